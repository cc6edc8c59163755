import type { CapsuleReader } from "../../capsule/capsule-reader.js";
import { mergeSettings, type ResolvedSettings } from "../../capsule/context-settings.js";
import { type DerivedSettings, deriveSettings, type KnobTable } from "../../capsule/knobs.js";
import type { ContextRequest } from "../../contract/gen/quire/v1/assembly_service.js";
import type { AgentRole } from "../../domain/agent-role.js";
import type { Capsule } from "../../domain/capsule.js";
import type { Clock, Ids } from "../../domain/clock.js";
import type { ContextSettings } from "../../domain/context-settings.js";
import { type Soon, together } from "../../domain/soon.js";
import { type ModelTokens, modelTokens } from "../../domain/token-units.js";
import { type Warning, WarningKind, warning } from "../../domain/warning.js";
import type { Toolset } from "../../domain/workspace.js";
import { QuireError } from "../../errors/quire-error.js";
import { boundCut } from "../../ledger/effective-cut.js";
import { type EffectiveThread, findWhole, heldBy } from "../../ledger/effective-thread.js";
import { requireOpen } from "../../ledger/open-turn.js";
import { reportedLimitOf } from "../../ledger/reported-limits.js";
import type { BlockReader, ContextBlocks } from "../../memory/block-reader.js";
import type { Calibrator } from "../../models/calibrator.js";
import { type Catalogue, type FoundModel, findModel } from "../../models/catalogue.js";
import { scaleOf, type TokenScale } from "../../models/token-scale.js";
import type { ReceiptDeps } from "../../receipts/deps.js";
import { activeSources } from "../../sources/active-sources.js";
import type { SourceDeps } from "../../sources/deps.js";
import type { ActiveSource } from "../../sources/source.js";
import type { HeldRow } from "../../storage/ledger/held-compactions.js";
import type { ParentTurn, SessionHead, TurnRow } from "../../storage/ledger/rows.js";
import { sessionNotFound } from "../../storage/ledger/session-store.js";
import { vocabularyNamed } from "../../tokens/vocabulary.js";
import type { OperatorOverride, OverrideText } from "../../workspace/operator-override.js";
import type { PromptTemplates, TemplateSource } from "../../workspace/templates.js";
import type { WorkspaceReader, WorkspaceView } from "../../workspace/workspace-reader.js";
import { requireOwnModel } from "../body/require-own-model.js";
import { type CallParameters, callParameters } from "./call-parameters.js";
import { findPin, type Pin, pinKey } from "./pin.js";
import { type RecentActivity, recentActivity } from "./recent-activity.js";
import { type SettledRequest, settleRequest } from "./settle-request.js";

export interface ResolveDeps extends ReceiptDeps {
  readonly capsules: CapsuleReader;
  readonly workspaces: WorkspaceReader;
  readonly blocks: BlockReader;
  readonly calibrator: Calibrator;
  readonly catalogue: Catalogue;
  readonly knobTable: KnobTable;
  readonly sources: SourceDeps;
  readonly override: OperatorOverride;
  readonly templates: TemplateSource;
  /** The server's own context settings, the weakest. */
  readonly settings: ContextSettings | undefined;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** What is settled with a cut, and changes only with it. */
export interface SettledCut {
  readonly scale: TokenScale & { readonly version: number };
  readonly memoryReserve: ModelTokens;
}

/** Everything that a request names, found. */
export interface ResolvedContext {
  /** With what the session remembers filled in. */
  readonly request: SettledRequest;
  readonly tenantId: string;
  readonly assemblyId: string;
  readonly nowMs: number;
  readonly session: SessionHead;
  readonly epoch: number;
  readonly head: ParentTurn | undefined;
  readonly activeTurn: TurnRow | undefined;
  /** The thread with the compaction that the context before began with, or the floor that was set since. */
  readonly thread: EffectiveThread & { readonly compaction: HeldRow | undefined };
  /** Whether the session had any compaction when it was read. */
  readonly holdsCompactions: boolean;
  /** The context before this one, for the same model, role, replay mode and asked limit. */
  readonly pin: Pin | undefined;
  /** What is still in force of what was settled with its cut. */
  readonly settled: SettledCut | undefined;
  readonly role: AgentRole;
  readonly task: string;
  readonly capsule: Capsule;
  readonly derived: DerivedSettings;
  readonly settings: ResolvedSettings;
  readonly workspace: WorkspaceView | undefined;
  /** The root of the workspace that is named; the session's where none is. */
  readonly workspacePath: string;
  readonly toolset: Toolset | undefined;
  /** The memory blocks that this context shows. */
  readonly blocks: ContextBlocks;
  /** What happened beside this session's own turns since the context before. */
  readonly activity: RecentActivity;
  /** The sources that this context asks, by their place in it. */
  readonly sources: readonly ActiveSource[];
  readonly model: FoundModel;
  readonly modelName: string;
  /** How much the model takes, if the session was told. */
  readonly reportedLimit: number | undefined;
  /** How the model is to be called. */
  readonly parameters: CallParameters;
  readonly provider: string;
  /** The texts that models read, and the operator's own: the same from the beginning of the assembly to its end. */
  readonly templates: PromptTemplates;
  readonly override: OverrideText | undefined;
  readonly scale: TokenScale & { readonly version: number };
  readonly warnings: readonly Warning[];
}

export async function resolve(
  deps: ResolveDeps,
  tenantId: string,
  given: ContextRequest,
): Promise<ResolvedContext> {
  const finding = deps.ledger.threads.findThread(tenantId, given.session);
  const found = finding instanceof Promise ? await finding : finding;
  if (!found) throw sessionNotFound(given.session);
  const { session, head, epoch } = found;
  const settling = settleRequest(deps, tenantId, given, found.memory);
  const request = settling instanceof Promise ? await settling : settling;
  const naming = together(
    () => (request.activeTurnId ? activeTurnOf(deps, tenantId, session, request.activeTurnId) : undefined),
    () => deps.capsules.resolve(tenantId, request.capsule, request.capsuleVersion),
    () => (request.workspace ? workspaceOf(deps, tenantId, request.workspace) : undefined),
    () => deps.templates.current(),
    () => deps.override.read(),
  );
  const [activeTurn, { capsule }, workspace, templates, { override, warnings: overrideWarnings }] =
    naming instanceof Promise ? await naming : naming;
  const showing = deps.blocks.forContext(tenantId, capsule.name, request.blocks);
  const blocks = showing instanceof Promise ? await showing : showing;
  const settings = mergeSettings(deps.settings, capsule.body?.settings, request.settings);
  const offering = request.toolset ? toolsetOf(deps, tenantId, request.toolset, workspace) : undefined;
  const toolset = offering instanceof Promise ? await offering : offering;
  const defaults = capsule.body?.persona?.model;
  const modelName = request.model || defaults?.model || "";
  const model = findModel(deps.catalogue, modelName);
  requireOwnModel(deps.catalogue, modelName, request.render, "context.render");
  const { role, task } = request;
  const nowMs = deps.clock.now();
  const { texts } = templates;
  const joining = findWhole(deps.ledger, { tenantId, session, epoch, head, activeTurn, texts });
  const whole = joining instanceof Promise ? await joining : joining;
  const { holds } = found;
  const key = pinKey({ modelName, role, request, capsule });
  const pin = holds.pins ? await findPin(deps, whole, key, nowMs) : undefined;
  const pinnedCut = pin?.receipt.cut?.compactionId ?? "";
  const cut = holds.compactions
    ? await boundCut(deps.ledger, heldBy(whole), pinnedCut, modelName)
    : undefined;
  const asking = activeSources(
    deps.sources,
    {
      tenantId,
      agent: capsule.name,
      role,
      holdsCompactions: holds.compactions,
      foldedTokens: cut ? Number(cut.beforeTokens - cut.beforeContextTokens) : 0,
    },
    settings.sources,
  );
  const sources = asking instanceof Promise ? await asking : asking;
  const about = { tenantId, agent: capsule.name, session, hasSubAgents: holds.subAgents, pin, nowMs };
  const limit = request.event ? settings.activityLimit - request.event.activity.length : 0;
  const happening = recentActivity(deps, about, limit);
  const activity = happening instanceof Promise ? await happening : happening;
  const settled = settledWith(pin, cut?.id ?? "", model);
  const scaling = settled?.scale ?? deps.calibrator.scaleFor(tenantId, model);
  const scale = scaling instanceof Promise ? await scaling : scaling;
  const derived = deriveSettings(capsule.body!, deps.knobTable);
  const parameters = callParameters(model, defaults, request);
  const warnings = [
    ...parameters.warnings,
    ...assumedWindow(model, modelName),
    ...(model.known
      ? []
      : [
          warning(
            WarningKind.MODEL_UNKNOWN,
            `${modelName === "" ? "no model is named" : `the model ${JSON.stringify(modelName)} is unknown`}: it is taken to have a window of ${model.entry.contextTokens} tokens`,
          ),
        ]),
    ...derived.clamped.map(({ knob, given, used }) =>
      warning(WarningKind.KNOB_CLAMPED, `the knob ${knob} is ${given}, out of range, and taken as ${used}`),
    ),
    ...overrideWarnings,
    ...templates.warnings,
  ];
  return {
    request,
    tenantId,
    assemblyId: deps.ids.next(),
    nowMs,
    session,
    epoch,
    head,
    activeTurn,
    thread: { ...whole, compaction: cut, vocabulary: scale.vocabulary },
    holdsCompactions: holds.compactions,
    pin,
    settled,
    role,
    task,
    capsule,
    derived,
    settings,
    workspace,
    workspacePath: workspace ? workspace.path : session.workspacePath,
    toolset,
    blocks,
    activity,
    sources,
    model,
    modelName,
    reportedLimit: reportedLimitOf(found.memory, modelName),
    parameters,
    templates,
    override,
    provider: request.provider || defaults?.provider || model.entry.provider,
    scale,
    warnings,
  };
}

/** A window that only a family stands for may be wrong. */
function assumedWindow({ entry, family, assumed }: FoundModel, modelName: string): readonly Warning[] {
  if (!family || !assumed.includes("window")) return [];
  const tokens = entry.contextTokens;
  const detail = `the catalogue does not have ${JSON.stringify(modelName)}: its window is assumed to be ${tokens} tokens, as for ${family}`;
  return [warning(WarningKind.MODEL_ASSUMED, detail)];
}

/** What was settled with the cut of the context before stays as long as that cut does, so that the room does not change and move it. */
function settledWith(pin: Pin | undefined, compactionId: string, model: FoundModel): SettledCut | undefined {
  const { budget, prefix, cut } = pin?.receipt ?? {};
  if (!budget || !cut || cut.compactionId !== compactionId) return undefined;
  // The context that moved the cut was counted with what was settled before.
  if (prefix?.scaledUnderCompactionId !== compactionId) return undefined;
  const { ratio, margin, calibrationVersion: version } = budget;
  // A budget is not exact where there are images, whatever the scale is.
  const { exact } = scaleOf(model.entry);
  const vocabulary = vocabularyNamed(budget.vocabulary);
  return {
    scale: { vocabulary, exact, ratio, margin, version },
    memoryReserve: modelTokens(cut.memoryReserve),
  };
}

async function activeTurnOf(
  deps: ResolveDeps,
  tenantId: string,
  session: SessionHead,
  turnId: string,
): Promise<TurnRow> {
  const turn = requireOpen(await deps.ledger.threads.findTurn(tenantId, turnId), turnId);
  if (turn.sessionId !== session.id || (turn.parentTurnId ?? "") !== (session.headTurnId ?? "")) {
    throw QuireError.field(
      "INVALID_FIELD",
      "context.active_turn_id",
      "is no open turn under the session's head",
    );
  }
  return turn;
}

function workspaceOf(deps: ResolveDeps, tenantId: string, name: string): Soon<WorkspaceView> {
  const found = deps.workspaces.resolve(tenantId, name);
  const required = (workspace: WorkspaceView | undefined) => {
    if (workspace) return workspace;
    throw new QuireError("WORKSPACE_NOT_FOUND", `there is no workspace ${JSON.stringify(name)}`, {
      metadata: { workspace: name },
    });
  };
  return found instanceof Promise ? found.then(required) : required(found);
}

function toolsetOf(
  deps: ResolveDeps,
  tenantId: string,
  name: string,
  workspace: WorkspaceView | undefined,
): Soon<Toolset> {
  if (!workspace)
    throw QuireError.field("INVALID_FIELD", "context.toolset", "needs a workspace, whose toolset it is");
  const found = deps.workspaces.toolsetOf(tenantId, workspace, name);
  const required = (toolset: Toolset | undefined) => {
    if (toolset) return toolset;
    throw new QuireError("TOOLSET_NOT_FOUND", `there is no toolset ${JSON.stringify(name)}`, {
      metadata: { toolset: name, workspace: workspace.name },
    });
  };
  return found instanceof Promise ? found.then(required) : required(found);
}
