import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ContextSettings } from "../../src/contract/gen/quire/v1/context_settings.js";
import type { DeepPartial, Message } from "../../src/contract/gen/quire/v1/message.js";
import type { PrefixState } from "../../src/contract/gen/quire/v1/prompt_cache.js";
import { type TokenUsage, TurnStatus } from "../../src/contract/gen/quire/v1/turn.js";
import type { Quire } from "../../src/index.js";
import { assistant, user } from "../support/messages.js";
import { tempFolder } from "../support/temp-folder.js";
import type { PartialContext } from "./agent.js";
import { testNow } from "./engine.js";
import { type FoldedContext, fold } from "./fold.js";
import { type OpenedEngine, openedEngine } from "./opened-engine.js";

/** A model whose cache is kept for five minutes. */
export const warmModel = "claude-opus-5";
export const ttlMs = 300_000;

/** Rules of so many lines, of which one says which edition it is. */
export function rules(edition: string): string {
  const lines = Array.from({ length: 40 }, (_, line) => `- Rule ${line}: answer in full sentences, always.`);
  return ["# Rules", ...lines.slice(0, 20), `- Edition ${edition}.`, ...lines.slice(20)].join("\n");
}

/** A context that was assembled and, if so asked, answered. */
export interface SentContext extends FoldedContext {
  readonly prefix: PrefixState;
  /** What Quire put before the event's content. */
  readonly context: string;
  /** The turn that answered it. */
  readonly turnId: string;
}

export interface TurnOptions {
  readonly messages?: readonly Message[];
  readonly status?: TurnStatus;
  readonly usage?: DeepPartial<TokenUsage>;
  readonly isUnnamed?: boolean;
}

/** A workspace, a capsule and a session whose prompt cache is warm, on an engine whose clock the test moves. */
export class WarmDesk {
  #nowMs: number;
  readonly folder: string;
  quire!: Quire;
  #opened!: OpenedEngine;

  private constructor(folder: string) {
    this.folder = folder;
    this.#nowMs = testNow;
  }

  static async open(settings?: DeepPartial<ContextSettings>): Promise<WarmDesk> {
    const desk = new WarmDesk(tempFolder());
    await desk.#start();
    await desk.quire.workspaces.putWorkspace({ name: "desk", path: "/srv/desk" });
    await desk.write({ "AGENTS.md": rules("one"), "SOUL.md": "Patient and exact." });
    await desk.putCapsule("You are Atlas. You help people travel.", settings);
    await desk.quire.ledger.createSession({ label: "desk" });
    return desk;
  }

  async #start(): Promise<void> {
    const flags = { database: `file:${join(this.folder, "quire.db")}`, primeFile: this.#primeFile };
    this.#opened = await openedEngine(flags, { clock: { now: () => this.#nowMs } });
    this.quire = this.#opened.quire;
  }

  /** Another process on the same database, at the same time. */
  async restart(): Promise<void> {
    await this.#opened.close();
    await this.#start();
  }

  close(): Promise<void> {
    return this.#opened.close();
  }

  get #primeFile(): string {
    return join(this.folder, "prime.md");
  }

  prime(text: string | undefined): void {
    if (text === undefined) rmSync(this.#primeFile, { force: true });
    else writeFileSync(this.#primeFile, text);
  }

  wait(ms: number): void {
    this.#nowMs += ms;
  }

  async write(documents: Readonly<Record<string, string>>): Promise<void> {
    await this.quire.workspaces.putDocuments({
      workspace: "desk",
      documents: Object.entries(documents).map(([path, content]) => ({ path, content })),
    });
  }

  async remove(...removePaths: string[]): Promise<void> {
    await this.quire.workspaces.putDocuments({ workspace: "desk", removePaths });
  }

  async putCapsule(corePrompt: string, settings: DeepPartial<ContextSettings> = {}): Promise<void> {
    const persona = { corePrompt, knobs: { intelligenceLevel: 9 }, model: { model: warmModel } };
    await this.quire.capsules.putCapsule({ name: "atlas", body: { persona, settings } });
  }

  request(more: PartialContext = {}): PartialContext {
    return {
      session: "desk",
      capsule: "atlas",
      workspace: "desk",
      tools: [{ name: "search", description: "Looks for flights." }],
      event: { content: [{ content: { $case: "text", value: { text: "And now?" } } }] },
      ...more,
    };
  }

  async assemble(more: PartialContext = {}): Promise<SentContext> {
    const folded = await fold(this.quire.assembly.assemble({ context: this.request(more) }));
    const [part] = folded.current?.contextParts ?? [];
    return {
      ...folded,
      prefix: folded.completed.prefix!,
      context: part?.content?.$case === "text" ? part.content.value.text : "",
      turnId: "",
    };
  }

  /** Assembles a context and records the turn that answers it. */
  async turn(more: PartialContext = {}, options: TurnOptions = {}): Promise<SentContext> {
    const sent = await this.assemble(more);
    return { ...sent, turnId: await this.record(sent, options) };
  }

  async record(sent: SentContext, options: TurnOptions = {}): Promise<string> {
    const { messages = [user("And now?"), assistant("Soon.")], usage, isUnnamed = false } = options;
    const { turn } = await this.quire.ledger.recordTurn({
      session: "desk",
      parentTurnId: await this.head(),
      messages: [...messages],
      status: options.status ?? TurnStatus.COMPLETED,
      assemblyId: isUnnamed ? "" : sent.resolved.assemblyId,
      ...(usage ? { result: { usage } } : {}),
    });
    return turn!.id;
  }

  async head(): Promise<string> {
    return (await this.quire.ledger.getSession({ session: "desk" })).session!.headTurnId;
  }

  async moveHead(turnId: string): Promise<void> {
    await this.quire.ledger.updateSession({
      session: "desk",
      headTurnId: turnId,
      expectedHeadTurnId: await this.head(),
    });
  }

  /** Where the second context first differs from the first, by their bytes. */
  compare(first: SentContext, second: SentContext) {
    return this.quire.assembly.compareReceipts({
      firstAssemblyId: first.completed.assemblyId,
      secondAssemblyId: second.completed.assemblyId,
    });
  }
}
