import { fromBinary } from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { type FileDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { type Client, Metadata } from "@grpc/grpc-js";

/** Field numbers of grpc.reflection's messages, which are the same in v1 and v1alpha. */
const request = { fileContainingSymbol: 4, listServices: 7 };
const response = { fileDescriptors: 4, services: 6, error: 7 };

/** One question to server reflection, and the bytes of the answer's fields. */
async function ask(
  client: Client,
  version: string,
  field: number,
  value: string,
): Promise<Map<number, Buffer[]>> {
  const identity = (bytes: Buffer) => bytes;
  const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`;
  const stream = client.makeBidiStreamRequest(path, identity, identity, new Metadata());
  stream.end(Buffer.from(new BinaryWriter().tag(field, WireType.LengthDelimited).string(value).finish()));
  for await (const answer of stream) return fieldsOf(answer as Buffer);
  throw new Error("no answer");
}

function fieldsOf(bytes: Buffer): Map<number, Buffer[]> {
  const fields = new Map<number, Buffer[]>();
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (wireType !== WireType.LengthDelimited) {
      reader.skip(wireType, field);
      continue;
    }
    fields.set(field, [...(fields.get(field) ?? []), Buffer.from(reader.bytes())]);
  }
  return fields;
}

export async function listServices(client: Client, version: string): Promise<string[]> {
  const answer = await ask(client, version, request.listServices, "*");
  const services = fieldsOf(answer.get(response.services)![0]!).get(1)!;
  return services.map((service) => fieldsOf(service).get(1)![0]!.toString());
}

/** The files that describe a symbol, or undefined if the server says that there is none. */
export async function describeSymbol(
  client: Client,
  version: string,
  symbol: string,
): Promise<FileDescriptorProto[] | undefined> {
  const answer = await ask(client, version, request.fileContainingSymbol, symbol);
  if (answer.has(response.error)) return undefined;
  const files = fieldsOf(answer.get(response.fileDescriptors)![0]!).get(1)!;
  return files.map((file) => fromBinary(FileDescriptorProtoSchema, file));
}
