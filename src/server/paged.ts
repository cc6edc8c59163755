const defaultPageSize = 50;

/** A request for a page, with its size said. */
export function paged<Request extends { readonly pageSize: number }>(request: Request): Request {
  return { ...request, pageSize: request.pageSize || defaultPageSize };
}
