import { renderContext } from "../../assembly/body/render-context.js";
import type { AssemblyDeps } from "../../assembly/deps.js";
import type { ReplayContextRequest } from "../../contract/gen/quire/v1/assembly_service.js";
import { RenderedBody } from "../../contract/gen/quire/v1/rendering.js";
import { type BuiltContext, contextPieces } from "../../receipts/built-context.js";
import { replayContext } from "../../receipts/replay.js";
import type { EncodedResponse } from "../encoded-response.js";
import { nested } from "../wire-pieces.js";

const contextField = 1;
const renderedField = 2;

/** A context as it was sent, and the body that it has in a format. */
export async function replayedContext(
  assembly: AssemblyDeps,
  tenantId: string,
  { assemblyId, render }: ReplayContextRequest,
  signal: AbortSignal,
): Promise<BuiltContext> {
  const replayed = await replayContext(assembly, tenantId, assemblyId!);
  const { rest, history, receipt, texts } = replayed;
  const { cachePlan, sessionId } = receipt;
  const sent = { history, cachePlan, sessionId, texts };
  const body = await renderContext(assembly, rest, sent, render, signal);
  return { ...replayed, rendered: body?.rendered };
}

/** A whole context and its body, in wire form: both answers that hold them have them in the same fields. */
export function withBody(built: BuiltContext): EncodedResponse {
  const context = nested(contextField, contextPieces(built));
  if (!built.rendered) return context;
  return [...context, ...nested(renderedField, [Buffer.from(RenderedBody.encode(built.rendered).finish())])];
}
