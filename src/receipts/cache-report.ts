import type { GetCacheReportResponse } from "../contract/gen/quire/v1/assembly_service.js";
import {
  type CachePlan,
  type CacheTurn,
  type CacheUse,
  type ContextChange,
  ContextChangeKind,
} from "../contract/gen/quire/v1/prompt_cache.js";
import { fromMicroseconds } from "../domain/clock.js";
import type { TurnRow } from "../storage/ledger/rows.js";
import { sessionNotFound } from "../storage/ledger/session-store.js";
import type { ReceiptDeps } from "./deps.js";

/** Less of what was predicted than this was read: something was missed. */
const hitShare = 0.9;

/** What was predicted of the prompt cache for the last turns of a session, beside what providers reported. */
export async function cacheReport(
  deps: ReceiptDeps,
  tenantId: string,
  session: string,
  count: number,
): Promise<GetCacheReportResponse> {
  const found = await deps.ledger.threads.findThread(tenantId, session);
  if (!found) throw sessionNotFound(session);
  const rows = await lastTurns(deps, tenantId, found.head, count);
  const turns: CacheTurn[] = [];
  for (const row of rows) turns.push(await cacheTurn(deps, row));
  return { turns, models: usesOf(turns) };
}

async function lastTurns(
  deps: ReceiptDeps,
  tenantId: string,
  head: { readonly branchId: string | null; readonly depth: number | null } | undefined,
  count: number,
): Promise<TurnRow[]> {
  if (!head?.branchId || !head.depth) return [];
  const position = { branchId: head.branchId, depth: head.depth };
  const segments = await deps.ledger.threads.segments(tenantId, position, Math.max(0, head.depth - count));
  const rows: TurnRow[] = [];
  for (const segment of segments)
    rows.push(...(await deps.ledger.threads.listSegment(tenantId, segment, [], count)).reverse());
  return rows;
}

async function cacheTurn(deps: ReceiptDeps, row: TurnRow): Promise<CacheTurn> {
  const receipt = row.assemblyId ? await deps.recentReceipts.find(row.tenantId, row.assemblyId) : undefined;
  const predicted = row.modelCallCount > 1 ? await predictedForAll(deps, row) : receipt?.cachePlan;
  const inputTokens = Number(row.inputTokens ?? 0);
  const cachedInputTokens = Number(row.cachedInputTokens ?? 0);
  const hitRate = inputTokens > 0 ? cachedInputTokens / inputTokens : 0;
  return {
    turnId: row.id,
    assemblyId: row.assemblyId ?? "",
    model: row.model || (receipt?.model ?? ""),
    createTime: fromMicroseconds(row.createdUs),
    predicted,
    inputTokens,
    cachedInputTokens,
    cacheWriteTokens: Number(row.cacheWriteTokens ?? 0),
    hitRate,
    missCause: row.inputTokens === null ? undefined : missOf(predicted, cachedInputTokens),
  };
}

/**
 * What was predicted for all model calls of a turn together, which is what their reported usage is compared with; undefined where a
 * call names no assembly whose receipt is still there.
 */
async function predictedForAll(deps: ReceiptDeps, row: TurnRow): Promise<CachePlan | undefined> {
  const calls = await deps.ledger.threads.findCalls(row.tenantId, [row.id]);
  let sum: CachePlan | undefined;
  for (const [index, call] of calls.entries()) {
    const assemblyId = call.assemblyId ?? (index === 0 ? row.assemblyId : null);
    const receipt = assemblyId ? await deps.recentReceipts.find(row.tenantId, assemblyId) : undefined;
    const plan = receipt?.cachePlan;
    if (!plan) return undefined;
    sum = sum ? together(sum, plan) : plan;
  }
  return sum;
}

/** Two plans as one: the breakpoints of the later, and the first reason why something is not read. */
function together(before: CachePlan, plan: CachePlan): CachePlan {
  const inUsd = before.costUsd !== undefined && plan.costUsd !== undefined;
  return {
    kind: plan.kind,
    breakpoints: plan.breakpoints,
    readTokens: before.readTokens + plan.readTokens,
    writeTokens: before.writeTokens + plan.writeTokens,
    freshTokens: before.freshTokens + plan.freshTokens,
    cost: before.cost + plan.cost,
    costWithoutCache: before.costWithoutCache + plan.costWithoutCache,
    costUsd: inUsd ? before.costUsd! + plan.costUsd! : undefined,
    missCause: before.missCause ?? plan.missCause,
  };
}

/** Why less was read than could have been. */
function missOf(predicted: CachePlan | undefined, cachedInputTokens: number): ContextChange | undefined {
  if (!predicted) return { kind: ContextChangeKind.NOT_KEPT, detail: "" };
  if (predicted.missCause) return predicted.missCause;
  if (cachedInputTokens >= predicted.readTokens * hitShare) return undefined;
  return { kind: ContextChangeKind.PROVIDER, detail: "" };
}

function usesOf(turns: readonly CacheTurn[]): CacheUse[] {
  const models = [...new Set(turns.filter((turn) => turn.inputTokens > 0).map((turn) => turn.model))];
  return models.map((model) => {
    const own = turns.filter((turn) => turn.model === model && turn.inputTokens > 0);
    const sum = (of: (turn: CacheTurn) => number) => own.reduce((total, turn) => total + of(turn), 0);
    const input = sum((turn) => turn.inputTokens);
    const cached = sum((turn) => turn.cachedInputTokens);
    const planned = sum(({ predicted }) =>
      predicted ? predicted.readTokens + predicted.writeTokens + predicted.freshTokens : 0,
    );
    return {
      model,
      turns: own.length,
      inputTokens: input,
      cachedInputTokens: cached,
      hitRate: cached / input,
      predictedHitRate: planned === 0 ? 0 : sum(({ predicted }) => predicted?.readTokens ?? 0) / planned,
    };
  });
}
