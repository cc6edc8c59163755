import { fromBinary, fromJson, type JsonValue, toBinary, toJson } from "@bufbuild/protobuf";
import { UnreadableInput } from "../errors/unreadable-input.js";
import { messageDescriptor } from "./descriptors.js";
import { Receipt } from "./gen/quire/v1/assembly.js";
import {
  AssembleResponse,
  CompareReceiptsResponse,
  GetCacheReportResponse,
  ModelInfo,
} from "./gen/quire/v1/assembly_service.js";
import { Capsule, CapsuleBody } from "./gen/quire/v1/capsule.js";
import { CompactionTurn } from "./gen/quire/v1/compaction.js";
import { Block, BlockRevision } from "./gen/quire/v1/memory.js";
import { Message } from "./gen/quire/v1/message.js";
import { SearchResponse } from "./gen/quire/v1/search.js";
import { Session } from "./gen/quire/v1/session.js";
import { SourceRule } from "./gen/quire/v1/source.js";
import { Observation, SourceItem } from "./gen/quire/v1/source_item.js";
import { SourceInfo } from "./gen/quire/v1/source_service.js";
import { Turn } from "./gen/quire/v1/turn.js";
import { CapabilitySnapshot, Toolset, Workspace } from "./gen/quire/v1/workspace.js";
import type { Codec } from "./service.js";

/** The canonical JSON of a message of the contract, and back. Bytes are base64, times RFC 3339, enums names. */
function codec<T>(name: string, type: Codec<T>) {
  const read = (json: () => unknown, problem: string): T => {
    const schema = messageDescriptor(name);
    try {
      return type.decode(toBinary(schema, fromJson(schema, json() as JsonValue)));
    } catch (error) {
      throw new UnreadableInput(`${problem}: ${(error as Error).message}`);
    }
  };
  return {
    toJson(value: T): JsonValue {
      const schema = messageDescriptor(name);
      return toJson(schema, fromBinary(schema, type.encode(value).finish()));
    },
    fromJson(json: unknown): T {
      return read(() => json, `this is no ${name} of the contract`);
    },
    /** A file's text as a message. An error names the file. */
    parse(text: string, file: string): T {
      return read(() => JSON.parse(text), `${file} holds no ${name} of the contract`);
    },
  };
}

export const sessionJson = codec<Session>("Session", Session);
export const turnJson = codec<Turn>("Turn", Turn);
export const compactionJson = codec<CompactionTurn>("CompactionTurn", CompactionTurn);
export const messageJson = codec<Message>("Message", Message);
export const capsuleJson = codec<Capsule>("Capsule", Capsule);
export const capsuleBodyJson = codec<CapsuleBody>("CapsuleBody", CapsuleBody);
export const receiptJson = codec<Receipt>("Receipt", Receipt);
export const assembleResponseJson = codec<AssembleResponse>("AssembleResponse", AssembleResponse);
export const comparisonJson = codec<CompareReceiptsResponse>(
  "CompareReceiptsResponse",
  CompareReceiptsResponse,
);
export const modelJson = codec<ModelInfo>("ModelInfo", ModelInfo);
export const cacheReportJson = codec<GetCacheReportResponse>(
  "GetCacheReportResponse",
  GetCacheReportResponse,
);
export const workspaceJson = codec<Workspace>("Workspace", Workspace);
export const snapshotJson = codec<CapabilitySnapshot>("CapabilitySnapshot", CapabilitySnapshot);
export const toolsetJson = codec<Toolset>("Toolset", Toolset);
export const sourceInfoJson = codec<SourceInfo>("SourceInfo", SourceInfo);
export const sourceRuleJson = codec<SourceRule>("SourceRule", SourceRule);
export const observationJson = codec<Observation>("Observation", Observation);
export const sourceItemJson = codec<SourceItem>("SourceItem", SourceItem);
export const searchResponseJson = codec<SearchResponse>("SearchResponse", SearchResponse);
export const blockJson = codec<Block>("Block", Block);
export const blockRevisionJson = codec<BlockRevision>("BlockRevision", BlockRevision);
