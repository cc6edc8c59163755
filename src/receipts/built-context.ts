import { AssembledContext } from "../contract/gen/quire/v1/assembly.js";
import type { RenderedBody } from "../contract/gen/quire/v1/rendering.js";
import { fieldHead } from "../domain/field-head.js";
import { wireBytes } from "../domain/wire-bytes.js";

/** A whole context: its history as stored bytes (`history` of an AssembledContext), and everything else. */
export interface BuiltContext {
  readonly history: readonly Buffer[];
  readonly rest: AssembledContext;
  /** The rest in wire form, without its system prompt and its tools, as receipts keep it. */
  readonly contextWire: Buffer;
  /** The system prompt and the tools in wire form, in pieces. */
  readonly layersWire: readonly Buffer[];
  /** The provider's request body, if it was asked for. */
  readonly rendered: RenderedBody | undefined;
}

const emptyContext = AssembledContext.create();
const systemPromptField = 2;

/** The system prompt, given as UTF-8, and the tools, given as `tools` of an AssembledContext. */
export function layersWire(system: Buffer, tools: Buffer): readonly Buffer[] {
  return system.length === 0 ? [tools] : [fieldHead(systemPromptField, system.length), system, tools];
}

/** The context in wire form: only what receipts keep apart is encoded, the rest is there already. */
export function contextPieces(built: BuiltContext): Buffer[] {
  const { sessionId, floors, cachePlan, prefix, candidates, leadMessages } = built.rest;
  const apart = { sessionId, floors, cachePlan, prefix, candidates, leadMessages };
  return [
    ...built.history,
    built.contextWire,
    ...built.layersWire,
    wireBytes(AssembledContext, { ...emptyContext, ...apart }),
  ];
}
