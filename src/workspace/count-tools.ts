import type { Tool } from "../domain/workspace.js";
import type { TokenCounter } from "../tokens/token-counter.js";

/** Exact o200k_base counts of what a model sees of a tool. */
export interface ToolTokens {
  readonly name: number;
  readonly description: number;
  readonly schema: number;
}

/** One entry for each tool, in order. */
export async function countTools(
  counter: TokenCounter,
  tools: readonly Tool[],
  signal?: AbortSignal,
): Promise<readonly ToolTokens[]> {
  const texts = tools.flatMap(({ name, description, inputSchemaJson }) => [
    name,
    description,
    inputSchemaJson,
  ]);
  const counts = await counter.countAll(texts, undefined, signal);
  return tools.map((_, index) => ({
    name: counts[3 * index]!,
    description: counts[3 * index + 1]!,
    schema: counts[3 * index + 2]!,
  }));
}

export function totalTokens(tools: readonly ToolTokens[]): number {
  return tools.reduce((sum, { name, description, schema }) => sum + name + description + schema, 0);
}

export function writeToolTokens(tools: readonly ToolTokens[]): string {
  return JSON.stringify(tools.map(({ name, description, schema }) => [name, description, schema]));
}

export function readToolTokens(json: string): readonly ToolTokens[] {
  const rows = JSON.parse(json) as readonly (readonly [number, number, number])[];
  return rows.map(([name, description, schema]) => ({ name, description, schema }));
}
