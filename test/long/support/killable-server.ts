import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { Client, credentials } from "@grpc/grpc-js";
import { packageRoot } from "../../../src/config/package-root.js";
import { LedgerServiceClient } from "../../../src/contract/gen/quire/v1/ledger_service.js";

const serving = Buffer.from([8, 1]);

/** `quire serve` in a process of its own, on a socket and a database in a folder that outlives it. */
export class KillableServer {
  readonly address: string;
  private readonly child: ChildProcess;
  private readonly exited: Promise<unknown[]>;
  private readonly startedAt = performance.now();
  private errors = "";

  constructor(
    folder: string,
    database = `file:${join(folder, "quire.db")}`,
    socket = "quire.sock",
    more: readonly string[] = [],
  ) {
    this.address = `unix:${join(folder, socket)}`;
    const flags = ["--listen", this.address, "--database", database, ...more];
    const bin = join(packageRoot, "bin", "quire.js");
    this.child = spawn(process.execPath, [bin, "serve", ...flags, "--log-level", "silent"], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { PATH: process.env.PATH },
    });
    this.exited = once(this.child, "exit");
    this.child.stderr!.on("data", (text) => {
      this.errors += text;
    });
  }

  /** Waits until the server says that it serves; how many milliseconds after its start that was. */
  async ready(timeoutMs: number): Promise<number> {
    const client = new Client(this.address, credentials.createInsecure(), {
      "grpc.use_local_subchannel_pool": 1,
      "grpc.initial_reconnect_backoff_ms": 20,
      "grpc.max_reconnect_backoff_ms": 20,
    });
    try {
      for (;;) {
        if (this.child.exitCode !== null) throw new Error(`the server ended: ${this.errors}`);
        const elapsed = performance.now() - this.startedAt;
        if (await isServing(client)) return elapsed;
        if (elapsed > timeoutMs) throw new Error(`no server after ${timeoutMs} ms: ${this.errors}`);
        await new Promise((next) => setTimeout(next, 10));
      }
    } finally {
      client.close();
    }
  }

  connect(): LedgerServiceClient {
    return new LedgerServiceClient(this.address, credentials.createInsecure(), {
      "grpc.max_receive_message_length": -1,
      "grpc.use_local_subchannel_pool": 1,
      "grpc.initial_reconnect_backoff_ms": 100,
      "grpc.max_reconnect_backoff_ms": 500,
    });
  }

  /** `kill -9`: the process ends between two instructions, whatever it was doing. */
  async kill(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.exited;
  }

  /** Tells the server to stop, as an operator would; its exit code. */
  async stop(): Promise<unknown> {
    this.child.kill("SIGTERM");
    const [code] = await this.exited;
    return code;
  }
}

function isServing(client: Client): Promise<boolean> {
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      "/grpc.health.v1.Health/Check",
      () => Buffer.alloc(0),
      (bytes) => bytes,
      {},
      { deadline: Date.now() + 10_000 },
      (error, answer) => resolve(!error && answer?.equals(serving) === true),
    );
  });
}
