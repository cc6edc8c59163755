import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import * as wire from "../../src/contract/gen/quire/v1/ledger_service.js";
import { type Message, MessageRole } from "../../src/contract/gen/quire/v1/message.js";
import { AgentRole, EventSource } from "../../src/contract/gen/quire/v1/origin.js";
import { SessionDefaults, TaskStatus } from "../../src/contract/gen/quire/v1/session.js";
import { TurnStatus } from "../../src/contract/gen/quire/v1/turn.js";
import { onePartOfEach, said } from "../ledger/message-parts.js";
import { assistant, toolCalls, toolResults, user } from "../support/messages.js";
import { type MemoryMethod, memoryMethods, memoryRequest } from "./fuzz-memory.js";

/** A seeded source of choices. */
export class Random {
  constructor(private state: number) {}

  /** A whole number from 0 to below. */
  below(limit: number): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }
}

/** What is there for requests to be about. */
export interface FuzzScene {
  readonly session: string;
  readonly headTurnId: string;
  readonly openTurnId: string;
  /** Of a compaction that is needed in the session. */
  readonly planToken: string;
}

type LedgerMethod = keyof typeof wire.LedgerServiceService;

export interface FuzzRequest {
  readonly method: LedgerMethod | MemoryMethod;
  readonly kind: string;
  readonly bytes: Buffer;
}

const details = {
  agentRole: AgentRole.WORKER,
  model: "m",
  permissionsGranted: ["a", "b"],
  sourceEvent: { id: "e", source: EventSource.CRON, platform: "p" },
  metadata: { k: "v" },
};

const defaults = SessionDefaults.fromPartial({
  capsule: "c",
  model: "m",
  scope: { capabilities: ["s"] },
  tools: { tools: [{ name: "t", inputSchemaJson: "{}" }] },
});

/** For each method a request that is right, so that what is done to it meets all of the code behind. */
const right: {
  readonly [Method in LedgerMethod]: (scene: FuzzScene, random: Random) => Uint8Array;
} = {
  createSession: ({ session, headTurnId }, random) =>
    wire.CreateSessionRequest.encode(
      wire.CreateSessionRequest.create({
        requestId: `r${random.below(50)}`,
        label: `made ${random.below(1_000)}`,
        workspacePath: "/w",
        metadata: { a: "1", b: "2" },
        subAgent: {
          parentSessionId: session,
          parentTurnId: headTurnId,
          task: "t",
          taskStatus: TaskStatus.RUNNING,
        },
        defaults,
      }),
    ).finish(),
  getSession: ({ session }) => wire.GetSessionRequest.encode({ session }).finish(),
  listSessions: ({ session }, random) =>
    wire.ListSessionsRequest.encode(
      wire.ListSessionsRequest.create({
        pageSize: random.below(20),
        labelPrefix: "made",
        parentSession: session,
      }),
    ).finish(),
  updateSession: ({ session, headTurnId }) =>
    wire.UpdateSessionRequest.encode(
      wire.UpdateSessionRequest.create({
        session,
        workspacePath: "/x",
        setMetadata: { c: "3" },
        removeMetadata: ["a"],
        defaults,
        headTurnId,
        expectedHeadTurnId: headTurnId,
      }),
    ).finish(),
  deleteSession: (_, random) =>
    wire.DeleteSessionRequest.encode({
      requestId: "",
      session: `made ${random.below(1_000)}`,
      cascade: random.below(2) === 1,
    }).finish(),
  forkSession: ({ headTurnId }, random) =>
    wire.ForkSessionRequest.encode(
      wire.ForkSessionRequest.create({
        at: { $case: "turnId", value: headTurnId },
        label: `made ${random.below(1_000)}`,
      }),
    ).finish(),
  aliasSession: ({ session }, random) =>
    wire.AliasSessionRequest.encode(
      wire.AliasSessionRequest.create({
        alias: `alias ${random.below(100)}`,
        session,
        replace: random.below(2) === 0,
      }),
    ).finish(),
  unaliasSession: (_, random) =>
    wire.UnaliasSessionRequest.encode({ requestId: "", alias: `alias ${random.below(100)}` }).finish(),
  recordTurn: ({ session, headTurnId }, random) =>
    wire.RecordTurnRequest.encode(
      wire.RecordTurnRequest.create({
        requestId: `r${random.below(50)}`,
        session,
        parentTurnId: headTurnId,
        onHeadMoved: wire.OnHeadMoved.BRANCH,
        details,
        messages: [...everyPart(), user("x")],
        result: {
          messages: [toolCalls("c"), toolResults("c"), assistant("y")],
          usage: { inputTokens: 1, outputTokens: 2 },
          stopReason: "end",
          permissionsUsed: ["a"],
        },
        status: TurnStatus.COMPLETED,
      }),
    ).finish(),
  beginTurn: ({ session, headTurnId }, random) =>
    wire.BeginTurnRequest.encode(
      wire.BeginTurnRequest.create({
        session,
        parentTurnId: headTurnId,
        details,
        messages: [user("x")],
        ...(random.below(2) === 0
          ? { onHeadMoved: wire.OnHeadMoved.BRANCH }
          : { lease: { seconds: 1, onBusy: wire.OnBusy.INTERRUPT, discard: true, holder: "h" } }),
      }),
    ).finish(),
  renewLease: ({ openTurnId }) => wire.RenewLeaseRequest.encode({ turnId: openTurnId, seconds: 1 }).finish(),
  appendMessages: ({ openTurnId }) =>
    wire.AppendMessagesRequest.encode(
      wire.AppendMessagesRequest.create({
        turnId: openTurnId,
        messages: [...everyPart(), toolCalls("c"), toolResults("c")],
      }),
    ).finish(),
  completeTurn: ({ openTurnId }) =>
    wire.CompleteTurnRequest.encode(
      wire.CompleteTurnRequest.create({
        turnId: openTurnId,
        result: { messages: [assistant("z")] },
        onHeadMoved: wire.OnHeadMoved.BRANCH,
      }),
    ).finish(),
  getTurn: ({ headTurnId }) => wire.GetTurnRequest.encode({ turnId: headTurnId }).finish(),
  listTurns: ({ session }) =>
    wire.ListTurnsRequest.encode(
      wire.ListTurnsRequest.create({
        session,
        scope: wire.TurnScope.WRITTEN,
        statuses: [TurnStatus.OPEN, TurnStatus.COMPLETED],
        pageSize: 3,
      }),
    ).finish(),
  streamHistory: ({ session, headTurnId }) =>
    wire.StreamHistoryRequest.encode(
      wire.StreamHistoryRequest.create({
        thread: { $case: "session", value: session },
        afterTurnId: headTurnId,
        lastTurns: 3,
      }),
    ).finish(),
  compact: ({ session }, random) =>
    wire.CompactRequest.encode(
      wire.CompactRequest.create({ requestId: `r${random.below(50)}`, session, instructions: "keep names" }),
    ).finish(),
  submitCompaction: ({ session, planToken }) =>
    wire.SubmitCompactionRequest.encode(
      wire.SubmitCompactionRequest.create({
        session,
        planToken,
        summary: "x said y",
      }),
    ).finish(),
  watchSession: ({ session }) => wire.WatchSessionRequest.encode({ session, afterSequence: 0 }).finish(),
};

function everyPart(): Message[] {
  const [text, , , , , , image, file, opaque] = onePartOfEach;
  return [said(MessageRole.USER, text!, image!, file!, opaque!)];
}

export const methods = [...(Object.keys(right) as LedgerMethod[]), ...memoryMethods];

function rightRequest(method: FuzzRequest["method"], scene: FuzzScene, random: Random): Uint8Array {
  return Object.hasOwn(right, method)
    ? right[method as LedgerMethod](scene, random)
    : memoryRequest(method as MemoryMethod, random);
}

type Malformation = (random: Random, base: Buffer) => Buffer;

const varint = (value: bigint): Buffer => {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>= 7n) {
    if (rest < 0x80n) return Buffer.from([...bytes, Number(rest)]);
    bytes.push(Number(rest & 0x7fn) | 0x80);
  }
};

const tag = (field: number, wireType: number): Buffer => varint(BigInt(field) * 8n + BigInt(wireType));
const field = (number: number, content: Uint8Array): Buffer =>
  Buffer.concat([tag(number, WireType.LengthDelimited), varint(BigInt(content.length)), content]);

/** Where a string of the base stands, at random; its length is the byte before. */
function textAt(random: Random, base: Buffer): number {
  const places = [...base.keys()].filter(
    (at) => at > 0 && base[at - 1]! > 0 && base[at - 1]! < 60 && at + base[at - 1]! <= base.length,
  );
  return places.length > 0 ? random.pick(places) : 0;
}

const hugeLengths = [
  0x7f_ff_ff_ffn,
  0xff_ff_ff_ffn,
  0x7f_ff_ff_ff_ff_ff_ff_ffn,
  0xff_ff_ff_ff_ff_ff_ff_ffn,
  1n << 20n,
];

const malformations: Readonly<Record<string, Malformation>> = {
  "random bytes": (random) => random.bytes(random.below(random.pick([8, 64, 512, 4_096]))),
  "flipped bits": (random, base) => {
    const bytes = Buffer.from(base);
    for (let flips = 1 + random.below(4); flips > 0 && bytes.length > 0; flips--) {
      const at = random.below(bytes.length);
      bytes[at] = bytes[at]! ^ (1 << random.below(8));
    }
    return bytes;
  },
  "other bytes": (random, base) => {
    const bytes = Buffer.from(base);
    for (let changes = 1 + random.below(4); changes > 0 && bytes.length > 0; changes--)
      bytes[random.below(bytes.length)] = random.below(256);
    return bytes;
  },
  "cut short": (random, base) => base.subarray(0, random.below(base.length)),
  "bytes left out": (random, base) => {
    const at = random.below(base.length);
    return Buffer.concat([base.subarray(0, at), base.subarray(at + 1 + random.below(5))]);
  },
  "bytes put in": (random, base) => {
    const at = random.below(base.length);
    return Buffer.concat([base.subarray(0, at), random.bytes(1 + random.below(5)), base.subarray(at)]);
  },
  "bytes appended": (random, base) => Buffer.concat([base, random.bytes(1 + random.below(20))]),
  "another type": (random, base) => {
    const number = 1 + random.below(12);
    const wireType = random.pick([
      WireType.Varint,
      WireType.Bit64,
      WireType.LengthDelimited,
      WireType.Bit32,
      6,
      7,
    ]);
    const content =
      wireType === WireType.LengthDelimited
        ? field(number, random.bytes(random.below(30))).subarray(1)
        : random.bytes(9);
    return Buffer.concat([base, tag(number, wireType), content]);
  },
  "a field of another place": (random, base) => Buffer.concat([base, field(1 + random.below(12), base)]),
  "no field number": (random, base) => Buffer.concat([base, Buffer.from([random.below(8)]), base]),
  "a huge length": (random, base) =>
    Buffer.concat([
      base,
      tag(1 + random.below(12), WireType.LengthDelimited),
      varint(random.pick(hugeLengths)),
      random.bytes(20),
    ]),
  "a huge length inside": (random, base) =>
    Buffer.concat([
      base,
      field(
        3 + random.below(6),
        Buffer.concat([tag(5, WireType.LengthDelimited), varint(random.pick(hugeLengths))]),
      ),
    ]),
  "a long varint": (random, base) =>
    Buffer.concat([
      base,
      tag(1 + random.below(12), WireType.Varint),
      Buffer.alloc(8 + random.below(8), 0xff),
      Buffer.from([1]),
    ]),
  "deep groups": (random, base) =>
    Buffer.concat([base, Buffer.alloc(1 + random.below(50_000), random.pick([0x0b, 0x7b, 0x33, 0x2b]))]),
  "deep messages": (random, base) => {
    let nested: Buffer = Buffer.alloc(0);
    for (let depth = 1 + random.below(300); depth > 0; depth--)
      nested = field(random.pick([1, 4, 5, 6, 7]), nested);
    return Buffer.concat([base, nested]);
  },
  "text that is not UTF-8": (random, base) => {
    const bytes = Buffer.from(base);
    const at = textAt(random, base);
    Buffer.from(random.pick(["ff", "c080", "eda080", "f4908080", "80", "e28c"]), "hex").copy(bytes, at);
    return bytes;
  },
  "control characters": (random, base) => {
    const bytes = Buffer.from(base);
    bytes[textAt(random, base)] = random.pick([0, 1, 10, 31, 127]);
    return bytes;
  },
  "an enum value that is none": (random, base) => {
    const value = random.pick([7n, 99n, 0x7f_ff_ff_ffn, 0xff_ff_ff_ff_ff_ff_ff_ffn, 1n << 40n]);
    return Buffer.concat([base, tag(random.pick([1, 2, 3, 4, 5, 7, 8]), WireType.Varint), varint(value)]);
  },
  "many of one field": (random, base) => {
    const element = field(
      random.pick([3, 4, 5, 6]),
      random.pick([Buffer.alloc(0), field(1, Buffer.from("k")), field(5, Buffer.alloc(0))]),
    );
    return Buffer.concat([base, Buffer.concat(Array(1 + random.below(4_000)).fill(element))]);
  },
  "many in one field": (random, base) => {
    const element = field(random.pick([1, 4, 5, 6]), Buffer.alloc(0));
    return Buffer.concat([
      base,
      field(random.pick([3, 5, 6, 7]), Buffer.concat(Array(1 + random.below(4_000)).fill(element))),
    ]);
  },
  "a long text": (random, base) =>
    Buffer.concat([base, field(1 + random.below(8), Buffer.alloc(random.pick([300, 5_000, 70_000]), "x"))]),
  "a time that is none": (random, base) => {
    const seconds = random.pick([1n << 49n, 1n << 62n, 0xff_ff_ff_ff_ff_ff_ff_ffn, (1n << 53n) - 1n]);
    const time = Buffer.concat([
      tag(1, WireType.Varint),
      varint(seconds),
      tag(2, WireType.Varint),
      varint(seconds),
    ]);
    const text = field(5, field(1, field(1, Buffer.from("x"))));
    const message = Buffer.concat([tag(4, WireType.Varint), varint(2n), text, field(10, time)]);
    return Buffer.concat([base, field(random.pick([3, 6]), message)]);
  },
  "a page token that is none": (random, base) => {
    const tokens = ['["sessions"]', '["sessions","\\u0000"]', "{}", "[[]]", '["thread","x","1e999"]', '"'];
    return Buffer.concat([base, field(random.pick([2, 5]), Buffer.from(random.pick(tokens)))]);
  },
  "the same twice": (_, base) => Buffer.concat([base, base]),
  nothing: () => Buffer.alloc(0),
};

export const kinds = Object.keys(malformations);

/** The next malformed request. Every kind meets every method in turn. */
export function fuzzRequest(random: Random, scene: FuzzScene, index: number): FuzzRequest {
  const method = methods[index % methods.length]!;
  const kind = kinds[Math.floor(index / methods.length) % kinds.length]!;
  return {
    method,
    kind,
    bytes: malformations[kind]!(random, Buffer.from(rightRequest(method, scene, random))),
  };
}

/** Requests of millions of empty elements, as large as the server reads: what they decode to is larger than memory. */
export function giantRequests(bytes: number): FuzzRequest[] {
  const repeated = (number: number) =>
    Buffer.alloc(bytes, Buffer.from([number * 8 + WireType.LengthDelimited, 0]));
  const session = Buffer.from(new BinaryWriter().tag(2, WireType.LengthDelimited).string("x").finish());
  return [
    { method: "recordTurn", kind: "millions of messages", bytes: Buffer.concat([session, repeated(6)]) },
    { method: "appendMessages", kind: "millions of parts", bytes: field(3, repeated(5)) },
    { method: "createSession", kind: "millions of tags", bytes: repeated(4) },
    { method: "updateSession", kind: "millions of names", bytes: repeated(6) },
  ];
}
