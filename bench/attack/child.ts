import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { compiledModule } from "../../src/config/package-root.js";
import type { Tally } from "./caller.js";
import { noStall, type Stall } from "./stalls.js";

/** A process of the benchmark. It is asked by messages, and may end or fall silent at any time. */
export class Child {
  /** How the calls of an attacker ended, as far as it has told. */
  tally: Tally = {};
  private readonly process: ChildProcess;
  private readonly received: unknown[] = [];
  private readonly exited: Promise<unknown>;
  private arrived: () => void = () => undefined;
  private longest = noStall;
  private heardAt = performance.now();
  private heardCpuMs = 0;

  constructor(name: "server" | "echo" | "prober" | "attacker", args: readonly string[] = []) {
    this.process = fork(compiledModule(`bench/attack/${name}.ts`), args, {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.exited = once(this.process, "exit").then(() => this.arrived());
    this.process.on("error", () => undefined);
    this.process.on("message", (message: object) => {
      this.heardAt = performance.now();
      if ("stall" in message) {
        this.longest = message.stall as Stall;
        this.heardCpuMs = this.cpuMs;
      } else if ("tally" in message) {
        this.tally = message.tally as Tally;
      } else {
        this.received.push(message);
        this.arrived();
      }
    });
  }

  get isUp(): boolean {
    return this.process.exitCode === null && this.process.signalCode === null;
  }

  tell(message: unknown): void {
    if (this.process.connected) this.process.send(message as object);
  }

  /** What it says next; undefined when it ends, or says nothing for so long. */
  async next<T>(boundMs: number): Promise<T | undefined> {
    if (this.received.length === 0 && this.isUp) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, boundMs);
        this.arrived = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return this.received.shift() as T | undefined;
  }

  /** The longest stall of its event loop since it was told to reset; a silence that lasts is one, too. */
  get stall(): Stall {
    const silentMs = this.isUp ? performance.now() - this.heardAt : 0;
    if (silentMs < Math.max(1_000, this.longest.ms)) return this.longest;
    const ownMs = Math.min(silentMs, this.cpuMs - this.heardCpuMs);
    const { longest } = this;
    return {
      ms: silentMs,
      ownMs: Math.max(ownMs, longest.ownMs),
      workMs: Math.max(ownMs, longest.workMs),
    };
  }

  resetStall(): void {
    this.tell("reset");
    this.longest = noStall;
  }

  /** A line of its status, in MB: "VmRSS" is what it holds now, "VmHWM" the most that it ever did. */
  memoryMb(line: "VmRSS" | "VmHWM"): number {
    return Number(new RegExp(`^${line}:\\s+(\\d+) kB`, "m").exec(this.proc("status"))?.[1] ?? 0) / 1024;
  }

  /** The CPU that it has used, all threads together. */
  private get cpuMs(): number {
    const [user, system] = this.proc("stat").split(") ")[1]?.split(" ").slice(11, 13) ?? [];
    return 10 * (Number(user ?? 0) + Number(system ?? 0));
  }

  /** What the system says about it; nothing when it is gone. */
  private proc(file: "status" | "stat"): string {
    try {
      return readFileSync(`/proc/${this.process.pid}/${file}`, "utf8");
    } catch {
      return "";
    }
  }

  async kill(): Promise<void> {
    if (this.isUp) this.process.kill("SIGKILL");
    await this.exited;
  }
}
