import { createServer } from "node:net";
import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { services } from "../../contract/services.js";
import { type Check, fail, ok, warn } from "./check.js";

/** A server that is busy answers late; an address where nobody listens fails at once. */
const timeoutMs = 10_000;
const healthPath = "/grpc.health.v1.Health/Check";
const askedService = services.ledger.fullName;

/** What is at an address that the server would listen on: nothing, a Quire server, or something else. */
export async function checkAddress(address: string, authorities: Buffer | undefined): Promise<Check> {
  const name = `Address ${address}`;
  const answer = await health(address, authorities);
  if (answer === "SERVING") return ok(name, "a Quire server answers");
  if (answer === "NOT_SERVING") return warn(name, "a Quire server is going down", "wait until it is gone");
  const problem = await cannotListen(address);
  if (!problem) return ok(name, "free: quire serve can take it");
  if (problem !== "EADDRINUSE") return fail(name, problem, "choose another address: --listen <host:port>");
  const hint = "stop it, or choose another address: --listen <host:port>; a TLS server needs --tls-ca <file>";
  return fail(name, "taken by something that does not answer as Quire", hint);
}

/** Whether the server that somebody named is there. */
export async function checkServer(address: string, authorities: Buffer | undefined): Promise<Check> {
  const name = `Server ${address}`;
  if ((await health(address, authorities)) === "") {
    const hint =
      "start one there, or name another: --address <host:port>; a TLS server needs --tls-ca <file>";
    return fail(name, "no Quire server answers there", hint);
  }
  return ok(name, "a Quire server answers");
}

/** The answer of the standard health service; empty when there is none. */
export function health(address: string, authorities: Buffer | undefined): Promise<string> {
  const channel = authorities ? credentials.createSsl(authorities) : credentials.createInsecure();
  const client = new Client(address, channel);
  const options = { deadline: Date.now() + timeoutMs };
  return new Promise((resolve) => {
    const done = (error: ServiceError | null, status?: string) => {
      client.close();
      resolve(error ? "" : (status ?? ""));
    };
    client.makeUnaryRequest(
      healthPath,
      encodeService,
      decodeStatus,
      askedService,
      new Metadata(),
      options,
      done,
    );
  });
}

function encodeService(service: string): Buffer {
  return Buffer.from(new BinaryWriter().uint32(10).string(service).finish());
}

/** HealthCheckResponse has one field, an enum. */
function decodeStatus(bytes: Buffer): string {
  const reader = new BinaryReader(bytes);
  const status = reader.len > 0 && reader.uint32() === 8 ? reader.int32() : 0;
  return status === 1 ? "SERVING" : "NOT_SERVING";
}

async function cannotListen(address: string): Promise<string> {
  // The server takes the place of a socket file that is left over; only one that answers is in its way.
  if (address.startsWith("unix:")) return "";
  const colon = address.lastIndexOf(":");
  const host = address.slice(0, colon).replace(/^\[|\]$/g, "");
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen(Number(address.slice(colon + 1)), host, () => server.close(() => resolve("")));
  });
}
