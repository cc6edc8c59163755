import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  createFileRegistry,
  type DescExtension,
  type DescMessage,
  type FileRegistry,
  fromBinary,
} from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { packageRoot } from "../config/package-root.js";

let registry: FileRegistry | undefined;

/** The contract, as buf compiled it. */
export function contractRegistry(): FileRegistry {
  registry ??= createFileRegistry(
    fromBinary(
      FileDescriptorSetSchema,
      readFileSync(join(packageRoot, "src", "contract", "gen", "descriptors.binpb")),
    ),
  );
  return registry;
}

/** A message of the contract, by its name in the package. */
export function messageDescriptor(name: string): DescMessage {
  const found = contractRegistry().getMessage(`quire.v1.${name}`);
  if (!found) throw new Error(`the contract has no message ${name}`);
  return found;
}

/** An option of buf.validate; undefined while nothing in the contract carries any. */
export function ruleExtension(name: "field" | "oneof"): DescExtension | undefined {
  return contractRegistry().getExtension(`buf.validate.${name}`);
}
