import { WireType } from "@bufbuild/protobuf/wire";
import { AssembledContext, type PromptSection, ToolApproval } from "../../contract/gen/quire/v1/assembly.js";
import type { AssemblyResolved } from "../../contract/gen/quire/v1/assembly_service.js";
import { listWire, wireBytes, written } from "../../domain/wire-bytes.js";
import { wireFacts } from "../../models/model-words.js";
import { type ContextUse, plannedBudget, type Stages } from "../plan/budget-use.js";
import type { ContextPlan } from "../plan/plan.js";
import type { ResolvedContext } from "../resolve/resolve.js";

/** What of a resolved request it needs. */
export type ContextMessageInput = Pick<
  ResolvedContext,
  | "assemblyId"
  | "capsule"
  | "derived"
  | "model"
  | "modelName"
  | "parameters"
  | "provider"
  | "request"
  | "role"
  | "scale"
  | "session"
  | "warnings"
  | "workspacePath"
>;

const approvals = { all: ToolApproval.ALL, dangerous: ToolApproval.DANGEROUS, none: ToolApproval.NONE };

function modelConfig(resolved: ContextMessageInput) {
  const { derived, capsule, model, parameters } = resolved;
  const { knobs } = capsule.body?.persona ?? {};
  return {
    temperature: parameters.temperature,
    maxTokens: parameters.maxTokens,
    thinking: parameters.thinking,
    toolApproval: approvals[derived.toolApproval],
    recallLimit: derived.recallLimit,
    resourceBudget: knobs?.resourceBudget === undefined ? undefined : derived.resourceBudget,
    similarityThreshold: derived.similarityThreshold,
    knownAs: model.known ? model.family || model.name : "",
    assumed: wireFacts(model.assumed),
  };
}

/** The first event of an assembly. */
export function resolvedMessage(resolved: ContextMessageInput, plan: ContextPlan): AssemblyResolved {
  return {
    assemblyId: resolved.assemblyId,
    sessionId: resolved.session.id,
    sessionLabel: resolved.session.label,
    parentTurnId: resolved.session.headTurnId ?? "",
    capsule: resolved.capsule.name,
    capsuleVersion: resolved.capsule.version,
    role: resolved.role,
    model: resolved.modelName,
    provider: resolved.provider,
    modelConfig: modelConfig(resolved),
    budget: plannedBudget(resolved, plan),
    lanes: resolved.derived.lanes,
    workspacePath: resolved.workspacePath,
  };
}

/** A whole context but for what its receipt and the blobs beside it keep: history, system prompt, tools, floors, cache plan and prefix. */
export function contextMessage(
  resolved: ContextMessageInput,
  stages: Stages,
  use: ContextUse,
): AssembledContext {
  const { request } = resolved;
  return {
    ...AssembledContext.create(),
    currentMessage: stages.current.message,
    model: resolved.modelName,
    provider: resolved.provider,
    modelConfig: modelConfig(resolved),
    tokenBudget: use.budget,
    sessionLabel: resolved.session.label,
    parentTurnId: resolved.session.headTurnId ?? "",
    role: resolved.role,
    toolset: request.toolset ?? "",
    permissionsGranted: [...request.permissionsGranted],
    sourceEventId: request.event?.id ?? "",
    sourceEvent: request.event && {
      id: request.event.id,
      source: request.event.source,
      platform: request.event.platform,
    },
    workspacePath: resolved.workspacePath,
    assemblyId: resolved.assemblyId,
    capsule: resolved.capsule.name,
    capsuleVersion: resolved.capsule.version,
    sections: [...stages.system.sections],
    historyLayer: { ...stages.history.layer, reused: false, afterTurnId: "" },
    hashes: use.hashes,
    warnings: [...use.warnings],
    sources: [...stages.gathered.reports],
    leadMessages: [],
  };
}

const currentMessageField = 3;

/** A context of `contextMessage` in wire form. Its current message is encoded already, and comes first. */
export function encodedContext(
  context: AssembledContext,
  currentWire: Buffer,
  sections: readonly PromptSection[],
): Buffer {
  const sectionBytes = listWire(sections, sectionsWire);
  return written((writer) => {
    if (context.currentMessage) writer.tag(currentMessageField, WireType.LengthDelimited).bytes(currentWire);
    return AssembledContext.encode({ ...context, currentMessage: undefined, sections: [] }, writer).raw(
      sectionBytes,
    );
  });
}

const emptyContext = AssembledContext.create();

function sectionsWire(sections: readonly PromptSection[]): Buffer {
  return wireBytes(AssembledContext, { ...emptyContext, sections: [...sections] });
}
