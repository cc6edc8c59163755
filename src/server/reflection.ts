import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { ReflectionService } from "@grpc/reflection";
import { packageRoot } from "../config/package-root.js";

/** Server reflection, v1 and v1alpha, from the descriptors that buf made of the contract and of the health service. */
export function createReflection(): ReflectionService {
  const bytes = readFileSync(join(packageRoot, "src", "contract", "gen", "descriptors.binpb"));
  const files = fromBinary(FileDescriptorSetSchema, bytes).file;
  const fileDescriptorProtos = files.map((file) => Buffer.from(toBinary(FileDescriptorProtoSchema, file)));
  const format = "Protocol Buffer 3 DescriptorProto";
  return new ReflectionService({ contract: { format, type: {}, fileDescriptorProtos } });
}
