import type { WriteKey } from "../../storage/stored-answers.js";

/** What an answer is stored under. */
export type AnswerKey = Pick<WriteKey<never>, "tenantId" | "method" | "requestId">;
