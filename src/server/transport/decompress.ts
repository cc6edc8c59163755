import { promisify } from "node:util";
import { gunzip, inflate } from "node:zlib";
import { status as Code } from "@grpc/grpc-js";
import type { CallStatus } from "./call-status.js";

const formats: Readonly<
  Record<string, (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>>
> = { gzip: promisify(gunzip), deflate: promisify(inflate) };

/** What the answers say that a request may be compressed with. */
export const acceptedEncodings = ["identity", ...Object.keys(formats)].join(",");

/** A message that came compressed; or what is wrong with it. */
export async function decompressed(
  message: Buffer,
  encoding: string,
  maxBytes: number,
): Promise<Buffer | CallStatus> {
  const open = Object.hasOwn(formats, encoding) ? formats[encoding]! : undefined;
  if (!open)
    return {
      code: Code.UNIMPLEMENTED,
      details: `Received message compressed with unsupported encoding "${encoding}"`,
    };
  try {
    return await open(message, { maxOutputLength: maxBytes });
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE"
      ? {
          code: Code.RESOURCE_EXHAUSTED,
          details: `Received message that decompresses to a size larger than ${maxBytes}`,
        }
      : { code: Code.INTERNAL, details: "Failed to decompress message" };
  }
}
