import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { Client, credentials, Metadata } from "@grpc/grpc-js";

const identity = (bytes: Buffer) => bytes;

/** Calls with bytes and gives bytes, so that the client does no more than it must. */
export class WireClient {
  private readonly client: Client;

  constructor(address: string) {
    this.client = new Client(address, credentials.createInsecure(), {
      "grpc.max_receive_message_length": -1,
    });
  }

  unary(path: string, request: Buffer, metadata = new Metadata()): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.client.makeUnaryRequest(path, identity, identity, request, metadata, {}, (error, response) => {
        if (error) reject(error);
        else resolve(response!);
      });
    });
  }

  async stream(path: string, request: Buffer, metadata = new Metadata()): Promise<Buffer[]> {
    const responses: Buffer[] = [];
    const call = this.client.makeServerStreamRequest(path, identity, identity, request, metadata, {});
    call.on("data", (bytes: Buffer) => responses.push(bytes));
    await once(call, "end");
    return responses;
  }

  close(): void {
    this.client.close();
  }
}

/** The server's CPU for one call in ms, with the receipts stored: of one caller, or of several who call at the same time. */
export async function serverCpu(
  child: ChildProcess,
  calls: number,
  call: () => Promise<unknown>,
  callers = 1,
): Promise<number> {
  child.send("start");
  await once(child, "message");
  let left = calls;
  const oneByOne = async () => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: callers }, oneByOne));
  child.send("stop");
  const [{ cpuMs }] = (await once(child, "message")) as [{ cpuMs: number }];
  return cpuMs / calls;
}

/** In the server's process: tells the CPU between two messages, once what was put off is done. */
export function answerCpuQuestions(settle: () => Promise<unknown>, end: () => unknown): void {
  let before = process.cpuUsage();
  process.on("message", async (message) => {
    if (message === "start") {
      before = process.cpuUsage();
      process.send?.({});
    } else if (message === "stop") {
      await settle();
      const { user, system } = process.cpuUsage(before);
      process.send?.({ cpuMs: (user + system) / 1_000 });
    } else {
      await end();
      process.disconnect();
    }
  });
}

interface Codec<Message, Partial> {
  fromPartial(object: Partial): Message;
  encode(message: Message): { finish(): Uint8Array };
}

export function encoded<Message, Partial>(codec: Codec<Message, Partial>, message: Partial): Buffer {
  return Buffer.from(codec.encode(codec.fromPartial(message)).finish());
}
