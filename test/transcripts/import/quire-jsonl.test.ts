import { describe, expect, it } from "vitest";
import { Message, MessageRole } from "../../../src/contract/gen/quire/v1/message.js";
import { Session } from "../../../src/contract/gen/quire/v1/session.js";
import { Turn, TurnStatus } from "../../../src/contract/gen/quire/v1/turn.js";
import { messageJson, sessionJson, turnJson } from "../../../src/contract/proto-json.js";
import { importQuireJsonl } from "../../../src/transcripts/import/quire-jsonl.js";
import { found } from "../plan-shape.js";

const session = Session.fromPartial({
  id: "0198c0de-0000-7000-8000-000000000001",
  label: "mine",
  workspacePath: "/w",
  metadata: { a: "b" },
  aliases: ["other"],
});
const turn = Turn.fromPartial({
  id: "0198c0de-0000-7000-8000-000000000002",
  status: TurnStatus.COMPLETED,
  details: {
    model: "m",
    provider: "p",
    metadata: { k: "v" },
    sourceEvent: { id: "e", source: "EVENT_SOURCE_CRON" },
  },
  usage: { inputTokens: 1, outputTokens: 2 },
  modelCalls: [{ usage: { inputTokens: 1, outputTokens: 2 }, model: "n", assemblyId: "a" }],
  stopReason: "stop",
  permissionsUsed: ["read"],
});
const message = Message.fromPartial({
  id: "0198c0de-0000-7000-8000-000000000003",
  role: MessageRole.USER,
  parts: [
    { content: { $case: "text", value: { text: "hi\u0000 \u2028 there" } } },
    {
      content: {
        $case: "image",
        value: { source: { $case: "data", value: Buffer.from([0, 255]) }, mediaType: "image/png" },
      },
    },
    { content: { $case: "opaque", value: { provider: "x", kind: "k", data: Buffer.from([1, 2, 3]) } } },
  ],
  contextParts: [{ content: { $case: "text", value: { text: "it is late" } } }],
  contextJson: '{"time": 1}',
  o200kTokens: 5,
});

function file(...lines: readonly object[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

const whole = file(
  { session: sessionJson.toJson(session) },
  { turn: turnJson.toJson(turn) },
  { message: messageJson.toJson(message) },
);

describe("import quire-jsonl", () => {
  it("gives back turns and messages as they were, without what the server sets", () => {
    const plan = importQuireJsonl(whole, { label: "file-name", given: false });
    const [planned] = plan.sessions;
    const modelCalls = turn.modelCalls.map((call) => ({ ...call, assemblyId: undefined }));
    expect(planned).toMatchObject({ label: "mine", workspacePath: "/w", metadata: { a: "b" } });
    expect(planned?.turns).toEqual([
      {
        messages: [Message.fromPartial({ ...message, id: "", o200kTokens: 0 })],
        status: TurnStatus.COMPLETED,
        abandonOpenItems: false,
        details: turn.details,
        result: { usage: turn.usage, modelCalls, stopReason: "stop", error: "", permissionsUsed: ["read"] },
      },
    ]);
    expect(found(plan, "aliases")).toBe(1);
  });

  it("takes the label that is asked for before its own", () => {
    expect(importQuireJsonl(whole, { label: "wanted", given: true }).sessions[0]?.label).toBe("wanted");
  });

  it("does not give a session the id of another for a label", () => {
    const unnamed = file({ session: sessionJson.toJson({ ...session, label: session.id }) });
    expect(importQuireJsonl(unnamed, { label: "file-name", given: false }).sessions[0]?.label).toBe(
      "file-name",
    );
  });

  it.each([
    ["not JSON", `${whole}{"mess`, /line 4 is no JSON object/],
    ["a message before any turn", file({ session: {} }, { message: {} }), /line 2 is out of place/],
    [
      "a failed turn",
      file({ session: {} }, { turn: { status: "TURN_STATUS_FAILED" } }),
      /neither COMPLETED nor AWAITING/,
    ],
    ["no session", "", /first line/],
    [
      "a field that the contract does not have",
      file({ session: { labell: "x" } }),
      /no Session of the contract/,
    ],
  ])("refuses a file with %s", (_, text, reason) => {
    expect(() => importQuireJsonl(text, { label: "x", given: false })).toThrow(reason);
  });
});
