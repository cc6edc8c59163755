import { type CallOptions, Metadata, type ServiceError } from "@grpc/grpc-js";
import { BadRequest, ErrorInfo } from "./gen/google/rpc/error_details.js";
import { Status } from "./gen/google/rpc/status.js";

type Method<Request, Response> = (
  request: Request,
  metadata: Metadata,
  options: Partial<CallOptions>,
  callback: (error: ServiceError | null, response: Response) => void,
) => unknown;

/** A unary call as a promise. Every call has a deadline; the server stops its work when that passes. */
export function unary<Request, Response>(
  client: object,
  method: Method<Request, Response>,
  request: Request,
  deadlineMs = 10_000,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const options = { deadline: Date.now() + deadlineMs };
    method.call(client, request, new Metadata(), options, (error, response) =>
      error ? reject(error) : resolve(response),
    );
  });
}

/** The error of a call that must fail. */
export async function failure(call: Promise<unknown>): Promise<ServiceError> {
  try {
    await call;
  } catch (error) {
    return error as ServiceError;
  }
  throw new Error("the call succeeded");
}

/** What went wrong, by name, and where in the request. */
export function reasonAndFields(error: ServiceError): { reason: string; fields: string[] } {
  const [bytes] = error.metadata.get("grpc-status-details-bin");
  const details = bytes instanceof Buffer ? Status.decode(bytes).details : [];
  const find = (name: string) =>
    details.find(({ typeUrl }) => typeUrl.endsWith(`/google.rpc.${name}`))?.value;
  const info = find("ErrorInfo");
  const badRequest = find("BadRequest");
  return {
    reason: info ? ErrorInfo.decode(info).reason : "",
    fields: badRequest ? BadRequest.decode(badRequest).fieldViolations.map(({ field }) => field) : [],
  };
}
