import { Client, credentials } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { failure, startTestServer, type TestServer } from "../support/server.js";

let server: TestServer;
let client: Client;

beforeAll(async () => {
  server = await startTestServer();
  client = new Client(server.address, credentials.createInsecure());
});

afterAll(async () => {
  client?.close();
  await server?.stop();
});

/** A call with bytes as they are. */
function send(path: string, request: Buffer): Promise<Buffer> {
  const same = (bytes: Buffer) => bytes;
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, same, same, request, (error, answer) =>
      error ? reject(error) : resolve(answer!),
    );
  });
}

/** A length-delimited field. */
function field(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);
}

describe("CapsuleService as a service", () => {
  test("says that it is serving", async () => {
    const answer = await send(
      "/grpc.health.v1.Health/Check",
      field(1, Buffer.from("quire.v1.CapsuleService")),
    );
    expect([...answer]).toEqual([0x08, 1]);
  });

  test("is in the server's reflection", async () => {
    const same = (bytes: Buffer) => bytes;
    const path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
    const call = client.makeBidiStreamRequest(path, same, same);
    const answered = new Promise<Buffer>((resolve, reject) =>
      call.once("data", resolve).once("error", reject),
    );
    call.write(field(7, Buffer.from("*")));
    expect((await answered).toString("latin1")).toContain("quire.v1.CapsuleService");
    call.end();
  });

  test("MALFORMED_REQUEST: text that is not UTF-8 is refused, and not changed", async () => {
    const error = await failure(send("/quire.v1.CapsuleService/GetCapsule", field(1, Buffer.from([0xff]))));
    expect(error).toMatchObject({ reason: "MALFORMED_REQUEST", metadata: { method: "GetCapsule" } });
  });
});
