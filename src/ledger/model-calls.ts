import { fromMicroseconds } from "../domain/clock.js";
import type { AgentResult, ModelCall, TokenUsage } from "../domain/turn.js";
import { QuireError } from "../errors/quire-error.js";
import type { ModelCallRow, TurnRow } from "../storage/ledger/rows.js";
import type { AnsweredAssembly } from "./turn-draft.js";

/** As much as the contract can say. */
const maxTokens = 0xffff_ffffn;

type Reported = Partial<Pick<AgentResult, "usage" | "modelCalls">>;

/** The assembly that a request names, and what is known of it. */
interface NamedAssembly {
  readonly assemblyId?: string | undefined;
  readonly assembly?: AnsweredAssembly | undefined;
}

/** The model calls that a write reports: each by itself, or all as one. */
export function reportedCalls(
  { usage, modelCalls = [] }: Reported,
  { assemblyId, assembly }: NamedAssembly,
): readonly ModelCall[] {
  if (modelCalls.length > 0 || !usage) return modelCalls;
  const { model = "", provider = "" } = assembly ?? {};
  return [{ usage, model, provider, assemblyId: assemblyId || undefined, createTime: undefined }];
}

/** The turn with the calls counted in, and their rows. */
export function withCalls(
  turn: TurnRow,
  calls: readonly ModelCall[],
  createdUs: bigint,
  field: string,
): { readonly turn: TurnRow; readonly calls: readonly ModelCallRow[] } {
  if (calls.length === 0) return { turn, calls: [] };
  const rows = calls.map(
    ({ usage, model, provider, assemblyId }, index): ModelCallRow => ({
      tenantId: turn.tenantId,
      turnId: turn.id,
      sequence: turn.modelCallCount + index,
      model: model || turn.model,
      provider: provider || turn.provider,
      assemblyId: assemblyId || null,
      inputTokens: BigInt(usage?.inputTokens ?? 0),
      outputTokens: BigInt(usage?.outputTokens ?? 0),
      cachedInputTokens: BigInt(usage?.cachedInputTokens ?? 0),
      cacheWriteTokens: BigInt(usage?.cacheWriteTokens ?? 0),
      reasoningTokens: BigInt(usage?.reasoningTokens ?? 0),
      createdUs,
    }),
  );
  const sum = (key: keyof TokenUsage) => {
    const tokens = rows.reduce((total, row) => total + row[key], turn[key] ?? 0n);
    if (tokens <= maxTokens) return tokens;
    throw QuireError.field(
      "INVALID_FIELD",
      field,
      `with what was reported before comes to more than ${maxTokens.toLocaleString("en")} tokens`,
    );
  };
  return {
    calls: rows,
    turn: {
      ...turn,
      modelCallCount: turn.modelCallCount + rows.length,
      inputTokens: sum("inputTokens"),
      outputTokens: sum("outputTokens"),
      cachedInputTokens: sum("cachedInputTokens"),
      cacheWriteTokens: sum("cacheWriteTokens"),
      reasoningTokens: sum("reasoningTokens"),
    },
  };
}

export function viewCall(row: ModelCallRow): ModelCall {
  return {
    usage: {
      inputTokens: Number(row.inputTokens),
      outputTokens: Number(row.outputTokens),
      cachedInputTokens: Number(row.cachedInputTokens),
      cacheWriteTokens: Number(row.cacheWriteTokens),
      reasoningTokens: Number(row.reasoningTokens),
    },
    model: row.model,
    provider: row.provider,
    assemblyId: row.assemblyId ?? undefined,
    createTime: fromMicroseconds(row.createdUs),
  };
}
