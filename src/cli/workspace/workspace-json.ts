import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  createFileRegistry,
  type DescMessage,
  type FileRegistry,
  fromBinary,
  fromJson,
  type JsonValue,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { packageRoot } from "../../config/package-root.js";
import { CapabilitySnapshot, Toolset, Workspace } from "../../contract/gen/quire/v1/workspace.js";
import { CliError } from "../cli-error.js";

let registry: FileRegistry | undefined;

function descriptor(name: string): DescMessage {
  const file = join(packageRoot, "src", "contract", "gen", "descriptors.binpb");
  registry ??= createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(file)));
  const found = registry.getMessage(`quire.v1.${name}`);
  if (!found) throw new Error(`the contract has no message ${name}`);
  return found;
}

/** The canonical JSON of a message of the contract, and back. */
function codec<T>(
  name: string,
  type: { encode(value: T): { finish(): Uint8Array }; decode(bytes: Uint8Array): T },
) {
  return {
    toJson(value: T): JsonValue {
      const schema = descriptor(name);
      return toJson(schema, fromBinary(schema, type.encode(value).finish()));
    },
    /** A file's text as a message. Throws a CliError that names the file. */
    parse(text: string, file: string): T {
      const schema = descriptor(name);
      try {
        return type.decode(toBinary(schema, fromJson(schema, JSON.parse(text) as JsonValue)));
      } catch (error) {
        throw new CliError(`${file} holds no ${name} of the contract: ${(error as Error).message}`);
      }
    },
  };
}

export const workspaceJson = codec<Workspace>("Workspace", Workspace);
export const snapshotJson = codec<CapabilitySnapshot>("CapabilitySnapshot", CapabilitySnapshot);
export const toolsetJson = codec<Toolset>("Toolset", Toolset);
