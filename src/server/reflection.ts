import { toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { ReflectionService } from "@grpc/reflection";
import { contractRegistry } from "../contract/descriptors.js";

/** Server reflection, v1 and v1alpha, from the descriptors that buf made of the contract and of the health service. */
export function createReflection(): ReflectionService {
  const fileDescriptorProtos = [...contractRegistry().files].map(({ proto }) =>
    Buffer.from(toBinary(FileDescriptorProtoSchema, proto)),
  );
  const format = "Protocol Buffer 3 DescriptorProto";
  return new ReflectionService({ contract: { format, type: {}, fileDescriptorProtos } });
}
