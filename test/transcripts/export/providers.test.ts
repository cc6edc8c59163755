import { describe, expect, it } from "vitest";
import { Message, MessageRole, type Part } from "../../../src/contract/gen/quire/v1/message.js";
import { Session } from "../../../src/contract/gen/quire/v1/session.js";
import { Turn } from "../../../src/contract/gen/quire/v1/turn.js";
import { exportAnthropic } from "../../../src/transcripts/export/anthropic.js";
import type { Thread } from "../../../src/transcripts/export/exporter.js";
import { exportOpenai } from "../../../src/transcripts/export/openai.js";
import { Findings } from "../../../src/transcripts/findings.js";
import { importAnthropic } from "../../../src/transcripts/import/anthropic.js";
import { importOpenai } from "../../../src/transcripts/import/openai.js";
import type { Importer } from "../../../src/transcripts/import/transcript.js";

function threadOf(messages: readonly Message[]): Thread {
  return {
    session: Session.fromPartial({}),
    async *messages() {
      yield* messages;
    },
    turn: async () => Turn.fromPartial({}),
  };
}

function imported(importer: Importer, value: unknown): Thread {
  const plan = importer(JSON.stringify(value), { label: "s", given: true });
  return threadOf(plan.sessions[0]?.turns.flatMap(({ messages }) => messages) ?? []);
}

async function exported(exporter: typeof exportOpenai, thread: Thread) {
  const findings = new Findings();
  let text = "";
  for await (const piece of exporter(thread, findings)) text += piece;
  return { value: JSON.parse(text) as unknown, findings: findings.list().map(({ what }) => what) };
}

const text = (value: string): Part => ({ content: { $case: "text", value: { text: value } } });

describe("export openai", () => {
  const chat = [
    { role: "system", content: "S" },
    {
      role: "user",
      content: [
        { type: "text", text: "look" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AAEC" } },
        { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AAEC" } },
        { type: "file", file: { file_id: "file-1" } },
        { type: "hologram", data: 1 },
      ],
    },
    {
      role: "assistant",
      content: "I look",
      tool_calls: [{ id: "1", type: "function", function: { name: "f", arguments: '{"a": 1}' } }],
    },
    { role: "tool", tool_call_id: "1", content: "found" },
    { role: "assistant", content: "done" },
  ];

  it("gives back what an import of the same format read", async () => {
    const { value, findings } = await exported(exportOpenai, imported(importOpenai, chat));
    expect(value).toEqual(chat);
    expect(findings).toEqual([]);
  });

  it("puts the context that was sent before the content, an answer's in a message of the user, and reports what the format cannot hold", async () => {
    const contextParts = [text("it is late")];
    const asked = Message.fromPartial({ role: MessageRole.USER, contextParts, parts: [text("who?")] });
    const answered = Message.fromPartial({
      role: MessageRole.ASSISTANT,
      contextParts,
      parts: [
        { content: { $case: "thinking", value: { text: "hm", signature: "s", provider: "anthropic" } } },
        text("hi"),
      ],
    });
    const { value, findings } = await exported(exportOpenai, threadOf([asked, answered]));
    expect(value).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "it is late" },
          { type: "text", text: "who?" },
        ],
      },
      { role: "user", content: "it is late" },
      { role: "assistant", content: "hi" },
    ]);
    expect(findings).toEqual(["thinking, left out: the format has no place for it"]);
  });

  it("is an empty list for a session without turns", async () => {
    expect((await exported(exportOpenai, threadOf([]))).value).toEqual([]);
  });
});

describe("export anthropic", () => {
  const body = {
    system: [{ type: "text", text: "S" }],
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "look" },
          { type: "image", source: { type: "base64", media_type: "image/png", data: "AAEC" } },
          { type: "document", title: "T", source: { type: "text", media_type: "text/plain", data: "plain" } },
          { type: "document", source: { type: "file", file_id: "f1" } },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "hm", signature: "sig" },
          { type: "redacted_thinking", data: "ENCRYPTED" },
          { type: "server_tool_use", id: "srv", name: "web_search", input: {} },
          { type: "tool_use", id: "1", name: "f", input: { a: 1 } },
        ],
      },
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: "1",
            content: [{ type: "text", text: "found" }],
            is_error: true,
          },
          { type: "text", text: "and?" },
        ],
      },
      { role: "assistant", content: [{ type: "text", text: "done" }] },
    ],
  };

  it("gives back what an import of the same format read", async () => {
    const { value, findings } = await exported(exportAnthropic, imported(importAnthropic, body));
    expect(value).toEqual(body);
    expect(findings).toEqual([]);
  });

  it("joins neighbours of one role, and leaves out empty texts and others' thinking", async () => {
    const messages = [
      Message.fromPartial({ role: MessageRole.USER, parts: [text("a")] }),
      Message.fromPartial({ role: MessageRole.USER, parts: [text("b"), text("")] }),
      Message.fromPartial({
        role: MessageRole.ASSISTANT,
        parts: [
          { content: { $case: "thinking", value: { text: "t", signature: "x", provider: "openai" } } },
          text("c"),
        ],
      }),
    ];
    const { value, findings } = await exported(exportAnthropic, threadOf(messages));
    expect(value).toEqual({
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "a" },
            { type: "text", text: "b" },
          ],
        },
        { role: "assistant", content: [{ type: "text", text: "c" }] },
      ],
    });
    expect(findings).toHaveLength(2);
  });
});
