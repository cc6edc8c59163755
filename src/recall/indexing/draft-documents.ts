import { toMicroseconds } from "../../domain/clock.js";
import { sha256 } from "../../domain/hash.js";
import { OwnerKind } from "../../domain/memory.js";
import { megabyte } from "../../domain/memory-size.js";
import { MessageRole } from "../../domain/message.js";
import { stepByStep } from "../../domain/steps.js";
import type { Pending } from "../../storage/recall/pending.js";
import type {
  DocumentDraft,
  IndexedText,
  PartitionOwner,
  SearchStore,
} from "../../storage/recall/search-store.js";
import { decodeMessages } from "../../thread/message-codec.js";
import { knownFacts } from "../documents/known-facts.js";
import { messageWords } from "../documents/message-words.js";
import { cuesOf, speakerIn } from "../documents/text-cues.js";
import { analysis } from "../terms/analyse.js";
import { termHashes } from "../terms/term-hash.js";

const readBytes = megabyte;

type Pause = () => Promise<void> | undefined;
type Place = Pick<DocumentDraft["row"], "refId" | "messageIndex" | "sessionId" | "branchId" | "depth">;

/** Reads pending texts of one tenant and takes them apart, giving way to others as it goes. */
export async function draftDocuments(
  store: SearchStore,
  tenantId: string,
  pending: readonly Pending[],
  pause: Pause,
): Promise<IndexedText[]> {
  const idsOf = (kind: Pending["kind"]) =>
    pending.filter((one) => one.kind === kind).map(({ refId }) => refId);
  const drafts = new Map<string, { documents: DocumentDraft[]; revision?: number }>();
  await draftTurns(store, tenantId, idsOf("turn"), drafts, pause);
  for (const block of await store.blocks(tenantId, idsOf("block"))) {
    const owner: PartitionOwner = { kind: "block", ...ownerOf(block) };
    const text = [block.label, block.description, block.text].filter((words) => words !== "").join("\n");
    const place = alone(block.id);
    const facts = { timeUs: block.updatedUs, speaker: "", role: "", metadataJson: "" };
    const document = await draftOf(owner, place, text, { ...facts, o200kTokens: block.o200kTokens }, pause);
    drafts.set(`block ${block.id}`, { documents: [document], revision: block.revision });
    await pause();
  }
  for (const entry of await store.archival(tenantId, idsOf("archival"))) {
    const owner: PartitionOwner = { kind: "archival", ...ownerOf(entry) };
    const known = knownFacts(entry.metadataJson);
    const facts = {
      timeUs: known.timeMs === undefined ? entry.createdUs : toMicroseconds(known.timeMs),
      speaker: known.speaker || speakerIn(entry.content),
      role: "",
      metadataJson: entry.metadataJson,
      o200kTokens: entry.o200kTokens,
    };
    const text = `${entry.content}\n${tagsOf(entry.metadataJson)}`;
    const document = await draftOf(owner, alone(entry.id), text, facts, pause);
    drafts.set(`archival ${entry.id}`, { documents: [document] });
    await pause();
  }
  return pending.map((one) => ({
    ...one,
    ...(drafts.get(`${one.kind} ${one.refId}`) ?? { documents: [] }),
  }));
}

async function draftTurns(
  store: SearchStore,
  tenantId: string,
  turnIds: readonly string[],
  drafts: Map<string, { documents: DocumentDraft[] }>,
  pause: Pause,
): Promise<void> {
  if (turnIds.length === 0) return;
  const turns = new Map((await store.turns(tenantId, turnIds)).map((turn) => [turn.id, turn]));
  for await (const { turnId, firstIndex, wire } of messagesOf(store, tenantId, [...turns.keys()])) {
    const turn = turns.get(turnId)!;
    const owner: PartitionOwner = {
      kind: "message",
      ownerKind: OwnerKind.AGENT,
      ownerName: agentOf(turn.defaultsJson),
    };
    const known = knownFacts(turn.metadataJson, turn.sessionMetadataJson);
    const timeUs = known.timeMs === undefined ? turn.createdUs : toMicroseconds(known.timeMs);
    const drafted = drafts.get(`turn ${turnId}`) ?? { documents: [] };
    drafts.set(`turn ${turnId}`, drafted);
    for (const [at, message] of decodeMessages(wire).entries()) {
      // What an operator instructs is no memory of anybody.
      if (message.role === MessageRole.SYSTEM) continue;
      const text = messageWords(message);
      if (text === "") continue;
      const named = message.role === MessageRole.USER ? known.speaker : "";
      const { sessionId, branchId, depth } = turn;
      const place: Place = { refId: turnId, messageIndex: firstIndex + at, sessionId, branchId, depth };
      drafted.documents.push(
        await draftOf(
          owner,
          place,
          named === "" ? text : `${named}: ${text}`,
          {
            timeUs,
            speaker: named || speakerIn(text),
            role: message.role,
            metadataJson: turn.metadataJson === "{}" ? "" : turn.metadataJson,
            o200kTokens: message.o200kTokens,
          },
          pause,
        ),
      );
      await pause();
    }
  }
}

/** The messages of turns, read together up to so many bytes: turns may be huge, and nobody waits for them. */
async function* messagesOf(store: SearchStore, tenantId: string, turnIds: readonly string[]) {
  const bytes = await store.messageBytes(tenantId, turnIds);
  for (let from = 0, to = 0, sum = 0; from < turnIds.length; from = to, sum = 0) {
    do sum += bytes.get(turnIds[to++]!) ?? 0;
    while (to < turnIds.length && sum + (bytes.get(turnIds[to]!) ?? 0) <= readBytes);
    yield* await store.messages(tenantId, turnIds.slice(from, to));
  }
}

async function draftOf(
  owner: PartitionOwner,
  place: Place,
  text: string,
  facts: Pick<DocumentDraft["row"], "timeUs" | "speaker" | "role" | "metadataJson" | "o200kTokens">,
  pause: Pause,
): Promise<DocumentDraft> {
  const { terms, length } = await stepByStep(analysis(text), pause);
  return {
    owner,
    row: {
      ...place,
      ...facts,
      // PostgreSQL keeps no NUL in texts.
      speaker: facts.speaker.replaceAll("\0", ""),
      flags: cuesOf(text),
      termCount: length,
      contentHash: sha256(Buffer.from(text)) as unknown as DocumentDraft["row"]["contentHash"],
    },
    hashes: termHashes(terms),
  };
}

function alone(refId: string): Place {
  return { refId, messageIndex: 0, sessionId: null, branchId: null, depth: null };
}

function ownerOf({ ownerKind, ownerName }: { readonly ownerKind: string; readonly ownerName: string }) {
  return { ownerKind, ownerName };
}

/** The agent whose sessions these are; empty where none is named for it. */
export function agentOf(defaultsJson: string | null): string {
  if (defaultsJson === null) return "";
  const { capsule } = JSON.parse(defaultsJson) as { readonly capsule?: string };
  return capsule ?? "";
}

/** Words that an entry is to be found by. */
function tagsOf(metadataJson: string): string {
  if (metadataJson === "") return "";
  try {
    const { tags } = JSON.parse(metadataJson) as { readonly tags?: unknown };
    return Array.isArray(tags) ? tags.filter((tag) => typeof tag === "string").join(" ") : "";
  } catch {
    return "";
  }
}
