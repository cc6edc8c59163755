import { LoroClient } from "../../memory/loro-client.js";
import { asSystem, entropy, named, op, setText } from "../../memory/memory-quire.js";
import type { SoakCalls } from "./soak-calls.js";

const flux = "flux";
/** After so many words the text begins anew, so that every block has about the same size. */
const mostWords = 60;
/** What may come of a call that another one was faster than, or that was cut off before. */
const lateReasons = ["BLOCK_CHANGED", "SHARE_NOT_FOUND", "ARCHIVAL_NOT_FOUND", "BLOCK_NOT_FOUND"];

/** A memory block from its creation to its end, with all that can be done with it, and an archival entry now and then. */
export class SoakMemory {
  readonly faults: string[] = [];
  /** What was acknowledged of it, and nothing took away since. */
  private words: string[] = [];
  private entries: string[] = [];

  private constructor(
    private readonly calls: SoakCalls,
    private readonly label: string,
  ) {}

  static async begin(calls: SoakCalls): Promise<SoakMemory> {
    const requestId = calls.requestId();
    const label = `block-${requestId}`;
    const request = { requestId, block: named(label), charLimit: 20_000 };
    await calls.write((quire, options) => quire.memory.createBlock(request, options));
    return new SoakMemory(calls, label);
  }

  async step(): Promise<void> {
    if (this.words.length >= mostWords) return this.beginAnew();
    const kind = this.calls.random.weighted({
      append: 30,
      sync: 15,
      read: 15,
      useTool: 8,
      restore: 4,
      share: 6,
      archive: 10,
      search: 5,
    });
    await this[kind]();
  }

  /** Without a request id, whose answer would be kept for a day. */
  private async append(): Promise<void> {
    const word = this.calls.requestId();
    const operations = [op("appendText", { text: `${word} ` })] as never;
    const answer = await this.calls.read((quire, options) =>
      quire.memory.updateBlock({ block: named(this.label), operations }, options),
    );
    if (answer) this.words.push(word);
  }

  private async beginAnew(): Promise<void> {
    const block = named(this.label);
    this.words = [];
    await this.calls.read(({ memory }, options) =>
      memory.updateBlock({ block, operations: [setText("")] as never }, options),
    );
  }

  /** A copy that is opened, written to and sent. */
  private async sync(): Promise<void> {
    const word = this.calls.requestId();
    const isDone = await this.calls.read(async (quire) => {
      const copy = await new LoroClient(quire, this.label).open();
      const text = copy.doc.getText("text");
      text.insert(text.length, `${word} `);
      await copy.sync();
      copy.doc.free();
      return true;
    }, lateReasons);
    if (isDone) this.words.push(word);
  }

  private async read(): Promise<void> {
    const block = named(this.label);
    const got = await this.calls.read(({ memory }, options) => memory.getBlock({ block }, options));
    this.checkText(got?.block?.text);
    await this.calls.read(({ memory }, options) =>
      memory.listBlocks({ owner: entropy, pageSize: 20 }, options),
    );
    await this.calls.read(({ memory }, options) =>
      memory.listBlockRevisions({ block, pageSize: 5 }, options),
    );
  }

  private async useTool(): Promise<void> {
    const word = this.calls.requestId();
    const argumentsJson = JSON.stringify({ label: this.label, content: `${word} ` });
    const answer = await this.calls.read(({ memory }, options) =>
      memory.executeTool({ agent: "entropy", name: "memory_append", argumentsJson }, options),
    );
    if (answer && !answer.isError) this.words.push(word);
  }

  private async restore(): Promise<void> {
    const block = named(this.label);
    const got = await this.calls.read(({ memory }, options) =>
      memory.listBlockRevisions({ block, pageSize: 8 }, options),
    );
    const earlier = got?.revisions.at(-1)?.revision;
    if (earlier === undefined) return;
    this.words = [];
    await this.calls.read(({ memory }, options) =>
      memory.restoreBlock({ block, revision: earlier }, options),
    );
  }

  private async share(): Promise<void> {
    const block = named(this.label);
    const permission = "BLOCK_PERMISSION_READ_ONLY" as const;
    await this.calls.read(({ memory }, options) =>
      memory.shareBlock({ block, agent: flux, permission }, options),
    );
    await this.calls.read(
      ({ memory }, options) => memory.unshareBlock({ block, agent: flux }, options),
      lateReasons,
    );
  }

  private async archive(): Promise<void> {
    if (this.entries.length >= 3) return this.forget();
    const content = `${this.label} remembers ${this.calls.requestId()}`;
    const answer = await this.calls.read(({ memory }, options) =>
      memory.insertArchival({ owner: entropy, content }, options),
    );
    if (answer) this.entries.push(answer.entry!.id);
  }

  private async forget(): Promise<void> {
    const id = this.entries.shift();
    if (id === undefined) return;
    await this.calls.read(({ memory }, options) => memory.deleteArchival({ id }, options), lateReasons);
  }

  private async search(): Promise<void> {
    await this.calls.read(({ memory }, options) =>
      memory.search({ owner: entropy, query: `${this.label} remembers`, limit: 5 }, options),
    );
  }

  private checkText(text: string | undefined): void {
    if (text === undefined) return;
    const lost = this.words.filter((word) => !text.includes(word));
    if (lost.length > 0) this.faults.push(`${this.label} lost ${lost.join(", ")}`);
  }

  async end(): Promise<void> {
    await this.read();
    while (this.entries.length > 0) await this.forget();
    const block = named(this.label);
    const actor = asSystem;
    await this.calls.read(({ memory }, options) => memory.deleteBlock({ block, actor }, options));
    await this.calls.read(({ memory }) => memory.deleteBlock({ block, actor }), lateReasons);
  }
}
