import type * as models from "../gen/sqlite/models.js";
import { TableShape } from "../ledger/rows.js";

export type SearchDocumentRow = models.SearchDocumentModel;
export type NewSearchDocument = Omit<SearchDocumentRow, "id">;

/** What of a document ranking needs. */
export type DocumentColumns = Pick<
  SearchDocumentRow,
  "id" | "sessionId" | "branchId" | "depth" | "messageIndex" | "timeUs" | "speaker" | "flags" | "termCount"
>;

export const columnsShape = new TableShape<DocumentColumns>("search_documents", [
  ["id", "id", "int"],
  ["sessionId", "session_id", "text"],
  ["branchId", "branch_id", "text"],
  ["depth", "depth", "int"],
  ["messageIndex", "message_index", "int"],
  ["timeUs", "time_us", "bigint"],
  ["speaker", "speaker", "text"],
  ["flags", "flags", "int"],
  ["termCount", "term_count", "int"],
]);

export const newDocumentShape = new TableShape<NewSearchDocument>("search_documents", [
  ["tenantId", "tenant_id", "text"],
  ["partitionId", "partition_id", "int"],
  ["refId", "ref_id", "text"],
  ["messageIndex", "message_index", "int"],
  ["sessionId", "session_id", "text"],
  ["branchId", "branch_id", "text"],
  ["depth", "depth", "int"],
  ["timeUs", "time_us", "bigint"],
  ["speaker", "speaker", "text"],
  ["role", "role", "text"],
  ["flags", "flags", "int"],
  ["termCount", "term_count", "int"],
  ["o200kTokens", "o200k_tokens", "int"],
  ["metadataJson", "metadata_json", "text"],
  ["contentHash", "content_hash", "bytes"],
]);

export const documentShape = new TableShape<SearchDocumentRow>("search_documents", [
  ["id", "id", "int"],
  ...newDocumentShape.columns,
]);
