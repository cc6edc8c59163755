import type { SearchDocumentRow } from "../../storage/recall/rows.js";
import type { SearchStore } from "../../storage/recall/search-store.js";
import { decodeMessages } from "../../thread/message-codec.js";
import { messageWords } from "../documents/message-words.js";

/** What a document is made from, as it is stored now. */
export interface DocumentText {
  readonly text: string;
  /** The message's id, where it is one. */
  readonly messageId: string;
  /** The block's label, where it is one. */
  readonly label: string;
}

/** The texts of documents by their ids. A document whose text is gone, or is another by now, is missing. */
export async function readTexts(
  store: SearchStore,
  tenantId: string,
  documents: readonly SearchDocumentRow[],
): Promise<ReadonlyMap<number, DocumentText>> {
  const texts = new Map<number, DocumentText>();
  const [turnDocuments, others] = [
    documents.filter(({ branchId }) => branchId !== null),
    documents.filter(({ branchId }) => branchId === null),
  ];
  const refs = others.map(({ refId }) => refId);
  const rows = await store.messages(
    tenantId,
    turnDocuments.map(({ refId }) => refId),
  );
  for (const document of turnDocuments) {
    const row = rows.findLast(
      ({ turnId, firstIndex }) => turnId === document.refId && firstIndex <= document.messageIndex,
    );
    const message = row && decodeMessages(row.wire)[document.messageIndex - row.firstIndex];
    if (message) texts.set(document.id, { text: messageWords(message), messageId: message.id, label: "" });
  }
  const entries = new Map((await store.archival(tenantId, refs)).map((entry) => [entry.id, entry]));
  const left = refs.filter((id) => !entries.has(id));
  const blocks = new Map((await store.blocks(tenantId, left)).map((block) => [block.id, block]));
  for (const document of others) {
    const block = blocks.get(document.refId);
    const entry = entries.get(document.refId);
    if (block) texts.set(document.id, { text: block.text, messageId: "", label: block.label });
    else if (entry) texts.set(document.id, { text: entry.content, messageId: "", label: "" });
  }
  return texts;
}
