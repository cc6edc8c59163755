import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { connect } from "quire-client";

/** `quire serve` on a socket and a database in a folder, to be killed and started again. */
export class ServedQuire {
  readonly address: string;
  kills = 0;
  private child: ChildProcess;

  constructor(
    private readonly root: string,
    private readonly folder: string,
  ) {
    this.address = `unix:${join(folder, "quire.sock")}`;
    this.child = this.start();
  }

  /** `kill -9`, and a new start at once. Clients find nobody there for a while; it resolves when they find the new one. */
  async killAndRestart(): Promise<void> {
    this.kills++;
    this.child.kill("SIGKILL");
    await once(this.child, "exit");
    this.child = this.start();
    const quire = connect(this.address, { timeoutMs: 300_000 });
    await quire.ledger.listSessions({}).finally(() => quire.close());
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null) return;
    this.child.kill("SIGTERM");
    await once(this.child, "exit");
  }

  private start(): ChildProcess {
    const flags = ["--listen", this.address, "--database", `file:${join(this.folder, "quire.db")}`];
    flags.push("--prime-file", join(this.folder, "prime.md"), "--log-level", "silent");
    return spawn(process.execPath, [join(this.root, "bin", "quire.js"), "serve", ...flags], {
      stdio: "ignore",
    });
  }
}
