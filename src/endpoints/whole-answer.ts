const largestBytes = 4 * 1024 * 1024;

/**
 * A `fetch` for the SDKs that returns when the whole answer is there.
 * - The SDKs' timeout, which ends with the headers, so covers the body, too.
 * - An answer is read up to a limit; what is cut there is not JSON any more, and refused as such.
 * - A wait that the server asks for is obeyed only up to a limit: beyond it the answer counts as final.
 * - Redirects are not followed: what is sent and the key go to the address that was configured, or nowhere.
 */
export function wholeAnswerFetch(longestWaitMs: number, largestAnswerBytes = largestBytes): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, { ...init, redirect: "manual" });
    const body = await readBody(response, largestAnswerBytes);
    const headers = new Headers(response.headers);
    if (askedWaitMs(headers) > longestWaitMs) headers.set("x-should-retry", "false");
    const { status, statusText } = response;
    return new Response(body.length === 0 ? null : body, { status, statusText, headers });
  };
}

async function readBody(response: Response, largestAnswerBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > largestAnswerBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, largestAnswerBytes);
}

/** How long the server asks to wait, read as the SDKs read it; 0 for nothing. */
function askedWaitMs(headers: Headers): number {
  const ms = Number.parseFloat(headers.get("retry-after-ms") ?? "");
  if (ms) return ms;
  const after = headers.get("retry-after") ?? "";
  const seconds = Number.parseFloat(after);
  const wait = Number.isNaN(seconds) ? Date.parse(after) - Date.now() : seconds * 1000;
  return Number.isNaN(wait) ? 0 : wait;
}
