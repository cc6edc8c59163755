-- CreateTable
CREATE TABLE "compactions" (
    "tenant_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "session_id" TEXT NOT NULL,
    "anchor_turn_id" TEXT NOT NULL,
    "branch_id" TEXT,
    "depth" INTEGER,
    "previous_id" TEXT,
    "last_summarized_turn_id" TEXT,
    "first_kept_turn_id" TEXT NOT NULL,
    "first_kept_message_index" INTEGER NOT NULL,
    "summarized_turns" INTEGER NOT NULL,
    "trigger" TEXT NOT NULL,
    "strategy" TEXT NOT NULL,
    "parameters_json" TEXT NOT NULL,
    "summarizer" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "model" TEXT NOT NULL,
    "tokens_before" BIGINT NOT NULL,
    "tokens_after" BIGINT NOT NULL,
    "summary_tokens" INTEGER NOT NULL,
    "input_tokens" BIGINT NOT NULL,
    "output_tokens" BIGINT NOT NULL,
    "duration_ms" INTEGER NOT NULL,
    "instructions" TEXT NOT NULL,
    "floors_json" TEXT NOT NULL,
    "failures_json" TEXT NOT NULL,
    "wire" BYTEA NOT NULL,
    "created_us" BIGINT NOT NULL,
    "applied_us" BIGINT,

    CONSTRAINT "compactions_pkey" PRIMARY KEY ("tenant_id","id")
);

-- CreateIndex
CREATE INDEX "compactions_tenant_id_branch_id_depth_id_idx" ON "compactions"("tenant_id", "branch_id", "depth", "id");

-- CreateIndex
CREATE INDEX "compactions_tenant_id_anchor_turn_id_idx" ON "compactions"("tenant_id", "anchor_turn_id");
