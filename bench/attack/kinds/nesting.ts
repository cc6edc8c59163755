import {
  AssemblyServiceService,
  ValidateBodyRequest,
} from "../../../src/contract/gen/quire/v1/assembly_service.js";
import { LedgerServiceService } from "../../../src/contract/gen/quire/v1/ledger_service.js";
import { MessageRole } from "../../../src/contract/gen/quire/v1/message.js";
import { BodyFormat } from "../../../src/contract/gen/quire/v1/rendering.js";
import { text } from "../../assembly-conversation.js";
import type { Attack } from "../attack.js";
import { contextOf, type Target, turnOf, userTurn } from "../target.js";

const formats = [
  BodyFormat.ANTHROPIC_MESSAGES,
  BodyFormat.OPENAI_RESPONSES,
  BodyFormat.OPENAI_CHAT,
  BodyFormat.GEMINI,
];

const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
const brackets = (bytes: number) => `${"[".repeat(bytes / 2)}${"]".repeat(bytes / 2)}`;

function callTurn(session: string, argumentsJson: string) {
  const toolCall = { callId: "c", name: "search", argumentsJson };
  const content = [{ content: { $case: "text" as const, value: { text: "found" } } }];
  return turnOf(session, [
    { role: MessageRole.USER, parts: [text("Look.")] },
    { role: MessageRole.ASSISTANT, parts: [{ content: { $case: "toolCall", value: toolCall } }] },
    {
      role: MessageRole.TOOL,
      parts: [{ content: { $case: "toolResult", value: { callId: "c", content } } }],
    },
    { role: MessageRole.ASSISTANT, parts: [text("There.")] },
  ]);
}

/** Arguments, tool schemas and bodies that go deeper than a stack. */
export const deepNesting: Attack = {
  async prepare(target) {
    await target.putAgent();
    const [call, schema] = await target.sessions(2);
    await target.record(userTurn(schema!, "Hello."));
    const tools = [{ name: "deep", inputSchemaJson: `{"type":"object","properties":${nested(5_000)}}` }];
    return async () => {
      await target.caller.call(LedgerServiceService.recordTurn, callTurn(call!, nested(5_000)));
      await Promise.all(
        formats.flatMap((render) => [
          target.caller.call(AssemblyServiceService.buildContext, contextOf(call!, { render })),
          target.caller.call(AssemblyServiceService.buildContext, contextOf(schema!, { render, tools })),
          validate(target, render, `{"messages":[{"role":"user","content":${nested(5_000)}}]}`),
        ]),
      );
    };
  },
};

/** Megabytes of brackets. */
export const manyBrackets: Attack = {
  async prepare(target) {
    const [session] = await target.sessions(1);
    const bodies = formats.map((format) => ({ format, body: `{"messages":${brackets(10_000_000)}}` }));
    const turn = callTurn(session!, brackets(4_000_000));
    return () =>
      Promise.all([
        target.caller.call(LedgerServiceService.recordTurn, turn),
        ...bodies.map(({ format, body }) => validate(target, format, body)),
      ]);
  },
};

function validate(target: Target, format: BodyFormat, body: string) {
  const request = ValidateBodyRequest.create({ format, body: Buffer.from(body) });
  return target.caller.call(AssemblyServiceService.validateBody, request);
}
