import { AssembledContext, Receipt, ToolsLayer } from "../contract/gen/quire/v1/assembly.js";
import { defaultPromptTexts, type PromptTexts } from "../domain/prompt-texts.js";
import { wireBytes } from "../domain/wire-bytes.js";
import type { StoredReceipt } from "../storage/assembly/waiting-receipts.js";
import { decodeMessages } from "../thread/message-codec.js";
import { vocabularyNamed } from "../tokens/vocabulary.js";
import { parseTemplates } from "../workspace/templates.js";
import { type BuiltContext, layersWire } from "./built-context.js";
import type { ReceiptDeps } from "./deps.js";
import { findReceipt, receiptExpired } from "./find-receipt.js";
import { replayHistory } from "./replay-history.js";

/** A past context with its layers in wire form. */
export interface ReplayedContext extends BuiltContext {
  readonly receipt: Receipt;
  readonly toolsWire: Buffer;
  readonly texts: PromptTexts;
}

type ReplayDeps = Pick<ReceiptDeps, "ledger" | "receipts">;

/** Makes a past context again from what its receipt names; the same bytes, or an error. */
export async function replayContext(
  deps: ReplayDeps,
  tenantId: string,
  id: string,
): Promise<ReplayedContext> {
  const stored = await findReceipt(deps.receipts, tenantId, id);
  const [systemBytes, toolsWire, texts] = await Promise.all([
    deps.receipts.findBlob(tenantId, stored.systemHash),
    deps.receipts.findBlob(tenantId, stored.toolsHash),
    textsOf(deps, tenantId, stored),
  ]);
  if (!systemBytes || !toolsWire) throw receiptExpired(id, "its system prompt or its tools");
  const receipt = Receipt.decode(stored.wire);
  const textEnd = systemBytes.length - receipt.leadBytes;
  const [promptBytes, leadWire] = [systemBytes.subarray(0, textEnd), systemBytes.subarray(textEnd)];
  const context = AssembledContext.decode(stored.contextWire);
  const vocabulary = vocabularyNamed(receipt.budget?.vocabulary);
  const words = { vocabulary, texts } as const;
  const history = await replayHistory(deps.ledger, tenantId, id, context.historyLayer!, words);
  const { tools } = ToolsLayer.decode(toolsWire);
  return {
    receipt,
    toolsWire,
    texts,
    history,
    contextWire: stored.contextWire,
    layersWire: layersWire(promptBytes, wireBytes(AssembledContext, AssembledContext.create({ tools }))),
    rendered: undefined,
    rest: {
      ...context,
      systemPrompt: promptBytes.toString("utf8"),
      leadMessages: leadWire.length > 0 ? [...decodeMessages(leadWire)] : [],
      tools,
      sessionId: receipt.sessionId,
      floors: receipt.floors,
      cachePlan: receipt.cachePlan,
      prefix: receipt.prefix,
    },
  };
}

/** The words that models read, as they were then. */
async function textsOf(
  deps: ReplayDeps,
  tenantId: string,
  { id, templatesHash }: StoredReceipt,
): Promise<PromptTexts> {
  if (!templatesHash) return defaultPromptTexts;
  const bytes = await deps.receipts.findBlob(tenantId, templatesHash);
  if (!bytes) throw receiptExpired(id, "its templates");
  return parseTemplates(bytes);
}
