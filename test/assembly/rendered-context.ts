import { BodyFold } from "../../src/cli/assemble/body-fold.js";
import type { AssembleResponse } from "../../src/contract/gen/quire/v1/assembly_service.js";
import { BodyFormat, type RenderedBody } from "../../src/contract/gen/quire/v1/rendering.js";
import type { Quire } from "../../src/index.js";
import type { BodyFormat as FormatName } from "../../src/rendering/render-input.js";
import type { PartialContext } from "./agent.js";

/** Every format: what the contract calls it, what the renderers do, and a model that is spoken to so. */
export const formats: readonly {
  readonly name: FormatName;
  readonly format: BodyFormat;
  readonly model: string;
}[] = [
  { name: "anthropic", format: BodyFormat.ANTHROPIC_MESSAGES, model: "claude-opus-5-5" },
  { name: "openai-responses", format: BodyFormat.OPENAI_RESPONSES, model: "gpt-6-sol" },
  { name: "openai-chat", format: BodyFormat.OPENAI_CHAT, model: "gpt-4o" },
  { name: "gemini", format: BodyFormat.GEMINI, model: "gemini-3.8-flash" },
];

/** The same context for another model, with the limits that it was given. */
export function forModel(context: PartialContext, model: string): PartialContext {
  const modelLimits = (context.settings?.modelLimits ?? []).map((limits) => ({ ...limits, model }));
  return { ...context, model, settings: { ...context.settings, modelLimits } };
}

/** The events of an assembly, in order. */
export async function eventsOf(
  quire: Quire,
  context: PartialContext,
): Promise<NonNullable<AssembleResponse["event"]>[]> {
  const events: NonNullable<AssembleResponse["event"]>[] = [];
  for await (const { event } of quire.assembly.assemble({ context })) events.push(event!);
  return events;
}

export async function renderedOf(quire: Quire, context: PartialContext): Promise<RenderedBody> {
  return bodyOf(await eventsOf(quire, context));
}

/** The body that comes in pieces among the events of an assembly. */
export function bodyOf(events: readonly NonNullable<AssembleResponse["event"]>[]): RenderedBody {
  const fold = new BodyFold();
  for (const event of events) {
    const whole = event.$case === "rendered" ? fold.add(event.value) : undefined;
    if (whole) return whole;
  }
  throw new Error("there is no body");
}

/** What is in a body, as its provider reads it. */
export function parsed({ body }: RenderedBody): Readonly<Record<string, unknown>> {
  return JSON.parse(body.toString("utf8")) as Readonly<Record<string, unknown>>;
}
