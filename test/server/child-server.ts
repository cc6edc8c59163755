import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { credentials } from "@grpc/grpc-js";
import type { Config } from "../../src/config/options.js";
import { LedgerServiceClient } from "../../src/contract/gen/quire/v1/ledger_service.js";

export interface ChildServer {
  readonly ledger: LedgerServiceClient;
  readonly address: string;
  readonly pid: number;
  readonly folder: string;
  /** What the server's process holds, after a garbage collection. */
  memory(): Promise<HeldMemory>;
  /** Whether the process still runs. */
  isUp(): boolean;
  stop(): Promise<void>;
}

export interface HeldMemory extends NodeJS.MemoryUsage {
  /** Timers, sockets and the like that keep the process at work. */
  readonly handles: number;
}

interface ChildOptions {
  readonly flags?: Readonly<Partial<Record<keyof Config, unknown>>>;
  /** The largest file that the process can write, in 512-byte blocks: a full disk, for what it knows. */
  readonly maxFileBlocks?: number;
}

const main = fileURLToPath(new URL("child-server-main.mjs", import.meta.url));

/** A server in a process of its own, whose memory can be measured and whose limits can be set. */
export async function startChildServer(options: ChildOptions = {}): Promise<ChildServer> {
  const folder = mkdtempSync(join(tmpdir(), "quire-child-"));
  const database = `file:${join(folder, "quire.db")}`;
  const flags = JSON.stringify({ listen: "127.0.0.1:0", database, logLevel: "silent", ...options.flags });
  const limit = options.maxFileBlocks === undefined ? "" : `ulimit -f ${options.maxFileBlocks}; `;
  const child = spawn("sh", ["-c", `${limit}exec "$@"`, "sh", process.execPath, "--expose-gc", main, flags], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const [address] = (await answer(child)) as string[];
  const ledger = new LedgerServiceClient(address!, credentials.createInsecure(), {
    "grpc.max_receive_message_length": -1,
    "grpc.use_local_subchannel_pool": 1,
  });
  const isUp = () => child.exitCode === null && child.signalCode === null;
  return {
    ledger,
    address: address!,
    pid: child.pid!,
    folder,
    isUp,
    async memory() {
      child.send("memory");
      return (await answer(child)) as HeldMemory;
    },
    async stop() {
      ledger.close();
      if (isUp()) {
        const exited = once(child, "exit");
        child.send("stop");
        await exited;
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The child's next message; an error if it ends instead. */
async function answer(child: ChildProcess): Promise<unknown> {
  const ended = new AbortController();
  try {
    const exit = once(child, "exit", { signal: ended.signal }).then(([code, signal]) => {
      throw new Error(`the server ended: ${code ?? signal}`);
    });
    const message = once(child, "message", { signal: ended.signal }).then(([value]) => value as unknown);
    exit.catch(() => undefined);
    message.catch(() => undefined);
    return await Promise.race([message, exit]);
  } finally {
    ended.abort();
  }
}
