import type { BinaryReader } from "@bufbuild/protobuf/wire";
import type { MethodDefinition } from "@grpc/grpc-js";
import { AssemblyServiceService } from "../contract/gen/quire/v1/assembly_service.js";
import { CapsuleServiceService } from "../contract/gen/quire/v1/capsule_service.js";
import { LedgerServiceService } from "../contract/gen/quire/v1/ledger_service.js";
import { WorkspaceServiceService } from "../contract/gen/quire/v1/workspace_service.js";
import { encodeParts } from "../ledger/message-codec.js";
import { handingOver } from "../offload/offload.js";
import { heldMessages, type MessageHolder } from "./held-messages.js";
import { decodeStrictly } from "./strict-reader.js";
import { requestHash } from "./write-key.js";

interface Decoded {
  readonly request: unknown;
  readonly hash: Uint8Array | undefined;
  /** The parts of each message in stored form; undefined for small ones. */
  readonly encodedParts: readonly (Uint8Array | undefined)[];
}

type AnyMethod = MethodDefinition<unknown, unknown>;

const methods = new Map(
  [LedgerServiceService, AssemblyServiceService, CapsuleServiceService, WorkspaceServiceService]
    .flatMap((service) => Object.values(service) as unknown as AnyMethod[])
    .map((method) => [method.path, method]),
);

/** Runs in a worker thread. What is wrong with the bytes is said, not thrown: an error would be cloned with its stack. */
export function decodeRequest(input: {
  readonly path: string;
  readonly bytes: Uint8Array;
}): Decoded | { readonly failure: string } {
  const method = methods.get(input.path)!;
  let request: MessageHolder & { readonly requestId?: string };
  try {
    const bytes = Buffer.from(input.bytes.buffer, input.bytes.byteOffset, input.bytes.length);
    request = decodeStrictly(bytes, (reader) => decoded(method, reader)) as typeof request;
  } catch (error) {
    return { failure: (error as Error).message };
  }
  const hash = request.requestId ? requestHash(request, method.requestSerialize) : undefined;
  const encodedParts = heldMessages(request).map(encodeParts);
  const buffers = encodedParts.flatMap((parts) => (parts ? [parts.buffer as ArrayBuffer] : []));
  return handingOver({ request, hash, encodedParts }, buffers);
}

/** Generated code takes a reader where it takes bytes. */
function decoded(method: AnyMethod, reader: BinaryReader): unknown {
  return method.requestDeserialize(reader as unknown as Buffer);
}
