import { parseJson } from "../../domain/json-scan.js";
import { ActorKind, type Block, type BlockOwner, OwnerKind } from "../../domain/memory.js";
import { QuireError } from "../../errors/quire-error.js";
import type { Reason } from "../../errors/reasons.js";
import { answerId } from "../../storage/memory/block-reads.js";
import { replayAnswer, type WriteKey } from "../../storage/stored-answers.js";
import { archive } from "../archival.js";
import { placeOf } from "../blocks/block-place.js";
import { findBlock } from "../blocks/get-block.js";
import { applyAll } from "../blocks/update-block.js";
import { viewBlock } from "../blocks/views.js";
import type { MemoryDeps } from "../deps.js";
import type { Actor } from "../permissions.js";
import { memoryTools } from "./memory-tools.js";
import {
  integer,
  isWriting,
  knownCall,
  operationOf,
  type ToolArguments,
  ToolMistake,
  text,
} from "./tool-operations.js";

export interface ExecuteTool {
  readonly agent: string;
  readonly name: string;
  readonly argumentsJson: string;
}

export interface ToolAnswer {
  readonly content: string;
  readonly isError: boolean;
  readonly block: Block | undefined;
}

const defaultResults = 10;
const mostResults = 50;

/** What is told to the model: it can do better. All else is told to the caller. */
const mistakes: ReadonlySet<Reason> = new Set<Reason>([
  "BLOCK_NOT_FOUND",
  "BLOCK_NOT_ALLOWED",
  "BLOCK_SCHEMA_MISMATCH",
  "BLOCK_LIMIT_EXCEEDED",
]);

/** Carries out a model's call of a memory tool, with the agent's own rights. */
export async function executeTool(
  deps: MemoryDeps,
  key: WriteKey<ToolAnswer>,
  { agent, name: given, argumentsJson }: ExecuteTool,
  signal?: AbortSignal,
): Promise<ToolAnswer> {
  const stored = await deps.store.reading((reads) => reads.answers([key]));
  const known = stored.get(answerId(key) ?? "");
  if (known) return replayAnswer(key, known);
  const args = readArguments(argumentsJson);
  const call = knownCall(given, args ?? {});
  if (!memoryTools.some(({ name }) => name === call.name))
    throw QuireError.field("INVALID_FIELD", "name", `there is no memory tool ${JSON.stringify(given)}`);
  if (!args) return mistake("the arguments are not a JSON object");
  const actor: Actor = { kind: ActorKind.AGENT, name: agent };
  try {
    return await carryOut(deps, key, actor, call.name, call.args, signal);
  } catch (error) {
    if (error instanceof ToolMistake) return mistake(error.message);
    if (!(error instanceof QuireError) || !mistakes.has(error.reason)) throw error;
    const [violation] = error.violations;
    return mistake(
      violation ? `${violation.field.split(".").at(-1)}: ${violation.description}` : error.message,
    );
  }
}

async function carryOut(
  deps: MemoryDeps,
  key: WriteKey<ToolAnswer>,
  actor: Actor,
  name: string,
  args: ToolArguments,
  signal: AbortSignal | undefined,
): Promise<ToolAnswer> {
  if (name === "archival_memory_insert") {
    const owner = { kind: OwnerKind.AGENT, name: actor.name };
    const metadataJson = args.tags === undefined ? "" : JSON.stringify({ tags: args.tags });
    const command = { owner, actor, content: text(args, "content"), metadataJson };
    return archive(deps, key, command, ({ id }) => done(`Kept in archival memory as ${id}.`), signal);
  }
  if (name === "memory_search") return searchMemory(deps, key.tenantId, actor.name, args, signal);
  const label = text(args, "label");
  const owner = await ownerOf(deps, key.tenantId, actor.name, label);
  if (!isWriting(name)) {
    const { row, seen } = await deps.store.reading((reads) =>
      findBlock(reads, key.tenantId, { owner, label }, actor),
    );
    return done(viewBlock(row, seen).rendered);
  }
  return deps.writer.write(key, placeOf({ owner, label }), (draft) => {
    draft.require(actor);
    const operation = operationOf(name, args, draft.schema, (section) => draft.textOf(section) === "");
    const [result] = applyAll(draft, actor, [operation]);
    if (!result!.matched) throw new ToolMistake("the block does not have this text: read it and try again");
    const seen = { permission: draft.permissionFor(actor), isShared: draft.owner.name !== actor.name };
    return (row) => {
      const { revision, chars, charLimit } = row!;
      const words = `The block ${JSON.stringify(label)} was changed. It is at revision ${revision} and has ${chars} of ${charLimit} characters.`;
      return { ...done(words), block: viewBlock(row!, seen) };
    };
  });
}

/** Results are JSON, so that nothing in a text can pass for another result. */
async function searchMemory(
  deps: MemoryDeps,
  tenantId: string,
  agent: string,
  args: ToolArguments,
  signal: AbortSignal | undefined,
): Promise<ToolAnswer> {
  const query = text(args, "query");
  const limit = integer(args, "limit", defaultResults);
  if (limit < 1) throw new ToolMistake("the argument limit must be at least 1");
  const asked = { agent, query, limit: Math.min(limit, mostResults) };
  const { found, note } = await deps.search(tenantId, asked, signal);
  const results = found.map(({ from, speaker, time, text: words }) => ({
    from,
    ...(speaker === "" ? {} : { speaker }),
    time: time.toISOString(),
    text: words,
  }));
  return done(JSON.stringify({ results, ...(note === "" ? {} : { note }) }));
}

/** Whose block is meant: the agent's own, or else the one that is shared with it. */
async function ownerOf(
  deps: MemoryDeps,
  tenantId: string,
  agent: string,
  label: string,
): Promise<BlockOwner> {
  const owners = await deps.reader.locate(tenantId, agent, label);
  const own = owners.find(({ kind, name }) => kind === OwnerKind.AGENT && name === agent);
  if (own) return own;
  if (owners.length > 1)
    throw new ToolMistake(
      `several blocks ${JSON.stringify(label)} are shared with you: they cannot be told apart`,
    );
  if (owners.length === 0) throw new ToolMistake(`there is no memory block ${JSON.stringify(label)}`);
  return owners[0]!;
}

function readArguments(json: string): ToolArguments | undefined {
  if (json.trim() === "") return {};
  const value = parseJson(json);
  const isRecord = typeof value === "object" && value !== null && !Array.isArray(value);
  return isRecord ? (value as ToolArguments) : undefined;
}

function done(content: string): ToolAnswer {
  return { content, isError: false, block: undefined };
}

function mistake(content: string): ToolAnswer {
  return { content: `Error: ${content}`, isError: true, block: undefined };
}
