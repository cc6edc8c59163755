import { Message, MessageRole, type Part, ToolCallPart } from "../src/contract/gen/quire/v1/message.js";
import { AgentResult, TurnDetails, TurnStatus } from "../src/contract/gen/quire/v1/turn.js";
import type { PlannedTurn } from "../src/transcripts/import/transcript.js";
import { text } from "./assembly-conversation.js";
import { seeded } from "./measure.js";
import type { Sessions } from "./needed-sessions.js";

const nouns =
  "order invoice session ledger buffer cursor parser renderer queue tenant token budget window anchor branch schema route handler worker cache".split(
    " ",
  );
const verbs =
  "load store parse render merge split count fold open close plan check encode decode reserve settle".split(
    " ",
  );
const rooms = "billing search auth sync export report gateway storage".split(" ");
const filler =
  "the value is kept until the caller has read it and the next one comes in order while nothing else may change it".split(
    " ",
  );

interface SourceFile {
  readonly path: string;
  readonly names: readonly string[];
  used: number;
}

/** Coding sessions with reads, searches, edits, large writes, test runs and parallel calls; sizes have a heavy tail. */
export function generatedSessions(threads = 3, turns = 14): Sessions {
  return {
    kind: "generated",
    threads: Array.from({ length: threads }, (_, at) => new Session(seeded(97 + at * 7_919)).write(turns)),
  };
}

class Session {
  private readonly files: SourceFile[];
  private readonly seen: SourceFile[] = [];
  private calls = 0;
  private readonly ids: string[] = [];
  private messages: Message[] = [];

  constructor(private readonly random: () => number) {
    const folder = `/srv/work/${this.pick(rooms)}-service/packages`;
    this.files = Array.from({ length: 70 }, (_, at) => {
      const noun = this.pick(nouns);
      const path = `${folder}/${this.pick(rooms)}/src/${this.pick(verbs)}-${noun}-${at}.ts`;
      const names = Array.from({ length: 24 }, () => this.nameOf(noun));
      return { path, names, used: 0 };
    });
  }

  write(turns: number): PlannedTurn[] {
    return Array.from({ length: turns }, () => this.turn());
  }

  private turn(): PlannedTurn {
    this.messages = [];
    const ticket = `${this.pick(rooms).toUpperCase()}-${1_000 + this.upTo(9_000)}`;
    this.ids.push(ticket);
    const goal = this.pick(this.files);
    this.say(
      MessageRole.USER,
      `Please look at ${ticket}: ${goal.names[0]} in ${goal.path} loses the ${this.pick(nouns)} when ${goal.names[1]} runs twice. Keep ${goal.names[2]} as it is.`,
    );
    const rounds = 4 + Math.min(40, this.heavy(8));
    this.round([this.read(goal)]);
    for (let at = 0; at < rounds; at++) this.step();
    this.say(
      MessageRole.ASSISTANT,
      `Done with ${ticket}: ${goal.names[0]} now holds the ${this.pick(nouns)}. I decided to leave ${goal.names[2]} alone because ${goal.names[3]} needs it.`,
    );
    return {
      messages: this.messages,
      status: TurnStatus.COMPLETED,
      abandonOpenItems: false,
      details: TurnDetails.create(),
      result: AgentResult.create(),
    };
  }

  private step(): void {
    const die = this.random();
    if (die < 0.3) this.round(Array.from({ length: 1 + this.upTo(3) }, () => this.read(this.another())));
    else if (die < 0.55) this.round([this.edit(this.known())]);
    else if (die < 0.62) this.round([this.largeWrite()]);
    else if (die < 0.8) this.round([this.test(this.known())]);
    else if (die < 0.93) this.round([this.search(this.known())]);
    else this.round([this.commit()]);
  }

  private read(file: SourceFile): Call {
    this.use(file);
    return { name: "read", arguments: { path: file.path }, result: this.code(file, 20 + this.heavy(60)) };
  }

  private edit(file: SourceFile): Call {
    this.use(file);
    const oldText = this.code(file, 2 + this.heavy(4));
    const newText = `${oldText}\n  ${this.pick(file.names)}(${this.pick(file.names)});`;
    return {
      name: "edit",
      arguments: { path: file.path, oldText, newText },
      result: `Replaced text in ${file.path}.`,
    };
  }

  private largeWrite(): Call {
    const near = this.known();
    const noun = this.pick(nouns);
    const names = [...Array.from({ length: 20 }, () => this.nameOf(noun)), ...near.names.slice(0, 4)];
    const path = near.path.replace(/[^/]+$/u, `${this.pick(verbs)}-${noun}-${this.files.length}.ts`);
    const file = { path, names, used: 0 };
    this.files.push(file);
    this.use(file);
    const content = this.code(file, 60 + this.heavy(160));
    return {
      name: "write",
      arguments: { path, content },
      result: `Wrote ${content.length} bytes to ${path}.`,
    };
  }

  private test(file: SourceFile): Call {
    const spec = file.path.replace("/src/", "/test/").replace(".ts", ".test.ts");
    const name = this.pick(file.names);
    const isRed = this.random() < 0.5;
    const lines = Array.from(
      { length: 4 + this.heavy(20) },
      (_, at) => ` ✓ ${this.pick(file.names)} ${at} (${this.upTo(90)} ms)`,
    );
    const failure = `FAIL ${spec}:${10 + this.upTo(300)} TypeError: ${name} is not a function\n    at ${file.path}:${this.upTo(400)}`;
    return {
      name: "bash",
      arguments: { command: `npx vitest run ${spec} -t "${name}"` },
      result: [...lines, isRed ? failure : "all tests passed"].join("\n"),
      isError: isRed,
    };
  }

  private search(file: SourceFile): Call {
    const name = this.pick(file.names);
    const hits = [file, ...Array.from({ length: this.heavy(6) }, () => this.pick(this.files))];
    return {
      name: "bash",
      arguments: { command: `grep -rn "${name}" ${file.path.replace(/\/[^/]+$/u, "")}` },
      result: hits
        .map(({ path }) => `${path}:${this.upTo(400)}: ${name}(${this.pick(file.names)})`)
        .join("\n"),
    };
  }

  private commit(): Call {
    const hash = Array.from({ length: 10 }, () => "0123456789abcdef"[this.upTo(16)]).join("");
    const ticket = this.ids[Math.floor(this.random() * this.ids.length)]!;
    this.ids.push(hash);
    return {
      name: "bash",
      arguments: {
        command: `git add -A && git commit -m "${ticket}: ${this.pick(verbs)} the ${this.pick(nouns)}"`,
      },
      result: `[main ${hash}] ${ticket}\n ${1 + this.upTo(9)} files changed`,
    };
  }

  private round(calls: readonly Call[]): void {
    const ids = calls.map(() => `call_${++this.calls}`);
    const called = calls.map(({ name, arguments: given }, at): Part => {
      const value = ToolCallPart.create({ callId: ids[at]!, name, argumentsJson: JSON.stringify(given) });
      return { content: { $case: "toolCall", value } };
    });
    const results = calls.map(({ result, isError = false }, at): Part => {
      const content = [{ content: { $case: "text" as const, value: { text: result } } }];
      return { content: { $case: "toolResult", value: { callId: ids[at]!, content, isError } } };
    });
    const words = this.random() < 0.4 ? [text(`Next I ${this.pick(verbs)} the ${this.pick(nouns)}.`)] : [];
    this.messages.push(
      Message.create({ role: MessageRole.ASSISTANT, parts: [...words, ...called] }),
      Message.create({ role: MessageRole.TOOL, parts: results }),
    );
  }

  private say(role: MessageRole, words: string): void {
    this.messages.push(Message.create({ role, parts: [text(words)] }));
  }

  private code(file: SourceFile, lines: number): string {
    return Array.from({ length: lines }, () => {
      const words = Array.from({ length: 4 + this.upTo(8) }, () => this.pick(filler)).join(" ");
      return `  const ${this.pick(file.names)} = ${this.pick(file.names)}(); // ${words}`;
    }).join("\n");
  }

  private use(file: SourceFile): void {
    file.used++;
    this.seen.push(file);
  }

  /** Most often something that was used lately, sometimes what was used long ago. */
  private known(): SourceFile {
    const back = Math.min(this.seen.length, 1 + this.heavy(3));
    return this.seen[this.seen.length - back]!;
  }

  private another(): SourceFile {
    return this.random() < 0.5 ? this.known() : this.pick(this.files);
  }

  private nameOf(noun: string): string {
    const other = this.pick(nouns);
    return `${this.pick(verbs)}${noun[0]!.toUpperCase()}${noun.slice(1)}${other[0]!.toUpperCase()}${other.slice(1)}${this.upTo(40)}`;
  }

  /** Log-normal: most are near the middle, some are many times larger. */
  private heavy(middle: number): number {
    const sum = Array.from({ length: 6 }, this.random).reduce((total, next) => total + next, 0) - 3;
    return Math.min(900, Math.floor(middle * Math.exp(sum * 1.4)));
  }

  private upTo(most: number): number {
    return Math.floor(this.random() * most);
  }

  private pick<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.random() * items.length)]!;
  }
}

interface Call {
  readonly name: string;
  readonly arguments: object;
  readonly result: string;
  readonly isError?: boolean;
}
