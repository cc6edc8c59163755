import { QuireError } from "../../errors/quire-error.js";
import type { StoredAnswerRow } from "./rows.js";

/** What makes a write idempotent, and how its answer is kept. */
export interface WriteKey<Answer> {
  readonly tenantId: string;
  readonly method: string;
  /** Empty: no protection. */
  readonly requestId: string;
  readonly requestHash: Buffer;
  encode(answer: Answer): Buffer;
  decode(bytes: Buffer): Answer;
}

/** The stored answer, for the same request; an error, for another request under the same id. */
export function replayAnswer<Answer>(key: WriteKey<Answer>, stored: StoredAnswerRow): Answer {
  if (!key.requestHash.equals(stored.requestHash)) {
    throw new QuireError(
      "REQUEST_ID_REUSED",
      `the request id ${key.requestId} came before with another body`,
      {
        metadata: { request_id: key.requestId, method: key.method },
        violations: [{ field: "request_id", description: "was used before for another request" }],
      },
    );
  }
  return key.decode(Buffer.from(stored.answer));
}

export function storedAnswerRow<Answer>(
  key: WriteKey<Answer>,
  answer: Answer,
  sessionId: string | null,
  createdUs: bigint,
): StoredAnswerRow {
  return {
    tenantId: key.tenantId,
    method: key.method,
    requestId: key.requestId,
    requestHash: key.requestHash as unknown as StoredAnswerRow["requestHash"],
    answer: key.encode(answer) as unknown as StoredAnswerRow["answer"],
    sessionId,
    createdUs,
  };
}
