// A source of contexts: notes, each a Markdown file of a folder. Those that the event names come first, then the newest.
//   node dist/examples/plug-ins/typescript/notes.js <folder> [host:port]
//   quire sources register notes --at 127.0.0.1:7070
// It says where it listens on its standard output.
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import {
  type handleUnaryCall,
  type MethodDefinition,
  Server,
  ServerCredentials,
  status,
} from "@grpc/grpc-js";
import { HealthImplementation } from "grpc-health-check";
import {
  ContextSourceServiceDefinition,
  type DescribeRequest,
  DescribeResponse,
  type FetchRequest,
  FetchResponse,
} from "quire-client/v1/context_source_service";

const [folder = ".", address = "127.0.0.1:7070"] = process.argv.slice(2);

/** The folder is read anew for every context: what was saved is in the next one. */
async function notesFor({ eventText, maxBlocks }: FetchRequest): Promise<FetchResponse> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".md"));
  const asked = eventText.toLowerCase();
  const notes = await Promise.all(
    names.map(async (name) => {
      const title = basename(name, ".md");
      const { mtimeMs } = await stat(join(folder, name));
      return { name, title, mtimeMs, isAsked: asked.includes(title.toLowerCase()) };
    }),
  );
  notes.sort((a, b) => Number(b.isAsked) - Number(a.isAsked) || b.mtimeMs - a.mtimeMs);
  const shown = notes.slice(0, maxBlocks);
  const blocks = await Promise.all(
    shown.map(async ({ name, title }) => {
      const content = await readFile(join(folder, name), "utf8");
      return { title, content, entities: [title] };
    }),
  );
  return FetchResponse.fromPartial({ blocks });
}

const describe: handleUnaryCall<DescribeRequest, DescribeResponse> = (_, answer) =>
  answer(null, DescribeResponse.fromPartial({ contract: "quire.v1", version: "notes 1" }));

const fetch: handleUnaryCall<FetchRequest, FetchResponse> = ({ request }, answer) => {
  notesFor(request).then(
    (found) => answer(null, found),
    (error) => answer({ code: status.UNAVAILABLE, details: String(error) }),
  );
};

interface Codec<T> {
  encode(value: T): { finish(): Uint8Array };
  decode(bytes: Uint8Array): T;
}

/** A generated method as grpc-js wants it. */
function method<Request, Response>(made: {
  readonly name: string;
  readonly requestType: Codec<Request>;
  readonly responseType: Codec<Response>;
}): MethodDefinition<Request, Response> {
  const { name, requestType, responseType } = made;
  return {
    path: `/${ContextSourceServiceDefinition.fullName}/${name}`,
    requestStream: false,
    responseStream: false,
    requestSerialize: (value) => Buffer.from(requestType.encode(value).finish()),
    requestDeserialize: (bytes) => requestType.decode(bytes),
    responseSerialize: (value) => Buffer.from(responseType.encode(value).finish()),
    responseDeserialize: (bytes) => responseType.decode(bytes),
  };
}

const { methods } = ContextSourceServiceDefinition;
const server = new Server();
server.addService({ describe: method(methods.describe), fetch: method(methods.fetch) }, { describe, fetch });
new HealthImplementation({ "": "SERVING" }).addToServer(server);
server.bindAsync(address, ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  console.log(`notes on ${address.slice(0, address.lastIndexOf(":"))}:${port}`);
});
