import { CapsuleBody } from "../../contract/gen/quire/v1/capsule.js";
import { Message, MessageRole, type Part } from "../../contract/gen/quire/v1/message.js";
import {
  CapabilitySnapshot,
  CapabilityState,
  Document,
  ToolKind,
  Toolset,
} from "../../contract/gen/quire/v1/workspace.js";

/** A small agent: it answers the customers of a bicycle shop. */

export const capsuleBody = CapsuleBody.fromPartial({
  persona: {
    corePrompt:
      "You are Spoke, who answers the customers of a bicycle shop. Look things up before you answer, and say what you do not know.",
    injectionPrompts: [
      { trigger: "start", content: "Answer in the language that the customer writes in." },
      { trigger: "angry", content: "The customer is upset: say sorry once, then help." },
    ],
    knobs: { intelligenceLevel: 5, autonomyLevel: 5 },
    model: { model: "gpt-4o", provider: "openai" },
  },
});

export const documents: readonly Document[] = [
  Document.fromPartial({
    path: "AGENTS.md",
    content:
      "# Rules of the shop\n- Orders are named by their number, as in B-1042.\n- Prices are in euro, tax included.\n- Repairs take three working days; never promise less.\n",
  }),
  Document.fromPartial({
    path: "user/IDENTITY.md",
    content: "Ann, a regular customer. Rides to work in all weathers. Prefers short answers.\n",
  }),
  Document.fromPartial({ path: "SOUL.md", content: "Calm, exact, and fond of bicycles.\n" }),
];

export const snapshot = CapabilitySnapshot.fromPartial({
  capabilities: [
    { name: "orders", category: "Shop", state: CapabilityState.ACTIVE, hint: "look up by number" },
    { name: "stock", category: "Shop", state: CapabilityState.READY },
    {
      name: "refunds",
      category: "Shop",
      state: CapabilityState.NEEDS_SETUP,
      reason: "the payment account is not linked",
    },
    { name: "telephone", category: "Contact", state: CapabilityState.BROKEN, reason: "the line is down" },
  ],
  credentialsConfigured: 2,
  credentialsBroken: ["telephone"],
});

const schema = (field: string) =>
  JSON.stringify({ type: "object", properties: { [field]: { type: "string" } }, required: [field] });

export const toolset = Toolset.fromPartial({
  name: "shop",
  tools: [
    {
      name: "find_order",
      description: "Finds an order by its number: state, items, date of delivery.",
      inputSchemaJson: schema("number"),
      capability: "orders",
    },
    {
      name: "check_stock",
      description: "Says how many of an article are in the shop.",
      inputSchemaJson: schema("article"),
      capability: "stock",
    },
    {
      name: "send_message",
      description: "Sends a message to the customer.",
      inputSchemaJson: schema("text"),
      kind: ToolKind.MESSAGING,
    },
    {
      name: "refund_order",
      description: "Pays an order back.",
      inputSchemaJson: schema("number"),
      capability: "refunds",
      requiredPermissions: ["refunds.pay"],
      dangerous: true,
    },
    {
      name: "report",
      description: "Reports to the manager.",
      inputSchemaJson: schema("text"),
      kind: ToolKind.REPLY,
    },
  ],
  rules: [
    { tool: "find_order", rule: { $case: "maxCalls", value: 3 } },
    { tool: "refund_order", rule: { $case: "requiresPrior", value: "find_order" } },
  ],
});

const text = (value: string): Part => ({ content: { $case: "text", value: { text: value } } });

export const user = (words: string) => Message.fromPartial({ role: MessageRole.USER, parts: [text(words)] });

export const assistant = (words: string) =>
  Message.fromPartial({ role: MessageRole.ASSISTANT, parts: [text(words)] });

function call(callId: string, name: string, argumentsJson: string): Message {
  const content = { $case: "toolCall", value: { callId, name, argumentsJson, signature: "" } } as const;
  return Message.fromPartial({ role: MessageRole.ASSISTANT, parts: [{ content }] });
}

function result(callId: string, words: string): Message {
  const answer = [{ content: { $case: "text", value: { text: words } } as const }];
  const content = { $case: "toolResult", value: { callId, content: answer, isError: false } } as const;
  return Message.fromPartial({ role: MessageRole.TOOL, parts: [{ content }] });
}

/** What was said before the demo begins, turn by turn: what came in, then what the engine returned. */
export const earlierTurns: readonly (readonly [Message, ...Message[]])[] = [
  [user("Hello, do you repair child trailers, too?"), assistant("Yes, we do. It takes three working days.")],
  [
    user("Good. And where is my order B-1042?"),
    call("call_1", "find_order", '{"number":"B-1042"}'),
    result("call_1", '{"state":"packed","items":["rain cover","front light"],"delivery":"Thursday"}'),
    assistant("B-1042 is packed: a rain cover and a front light. It comes on Thursday."),
  ],
];

export const question = "Can you add a bell to it?";
export const answer: readonly Message[] = [
  call("call_2", "check_stock", '{"article":"bell"}'),
  result("call_2", '{"article":"bell","count":12}'),
  assistant("Yes: we have 12 bells, and I put one into B-1042."),
];
export const nextQuestion = "Thank you! What does it cost now?";

/** What is said in the fork. */
export const forkedTurn = [user("And prams?"), assistant("Prams, too.")] as const;
