import type { ContextRequest } from "../../src/contract/gen/quire/v1/assembly_service.js";
import type { DeepPartial } from "../../src/contract/gen/quire/v1/message.js";
import { ToolKind } from "../../src/contract/gen/quire/v1/workspace.js";
import type { Quire } from "../../src/index.js";

export type PartialContext = DeepPartial<ContextRequest>;

export const exactModel = "gpt-4o";
/** Its vocabulary is not public: counts are scaled. */
export const estimatedModel = "claude-haiku-4-5";

/** A capsule that may use the whole window. */
export async function putAgent(quire: Quire): Promise<void> {
  await quire.capsules.putCapsule({
    name: "atlas",
    body: {
      persona: {
        corePrompt: "You are Atlas. You book flights.",
        knobs: { intelligenceLevel: 9 },
        model: { model: exactModel },
      },
    },
  });
}

/** A request whose window is as large as it needs to be, and that keeps nothing free for memory. */
export function contextRequest(session: string, model: string, more: PartialContext = {}): PartialContext {
  return {
    session,
    capsule: "atlas",
    model,
    tools: [
      {
        name: "search",
        description: "Looks for flights.",
        inputSchemaJson: '{"type":"object"}',
        kind: ToolKind.OTHER,
      },
    ],
    event: {
      id: "event-1",
      content: [{ content: { $case: "text", value: { text: "What about\tmy booking?\n " } } }],
      platform: "slack",
    },
    ...more,
    settings: { modelLimits: [{ model, maxTokens: 50_000_000, memoryTokens: 0 }], ...more.settings },
  };
}
