-- CreateTable
CREATE TABLE "sessions" (
    "tenant_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "label" TEXT NOT NULL,
    "head_turn_id" TEXT,
    "head_branch_id" TEXT,
    "head_depth" INTEGER NOT NULL DEFAULT 0,
    "head_sequence" INTEGER NOT NULL DEFAULT 0,
    "workspace_path" TEXT NOT NULL DEFAULT '',
    "metadata_json" TEXT NOT NULL DEFAULT '{}',
    "forked_from_turn_id" TEXT,
    "parent_session_id" TEXT,
    "parent_turn_id" TEXT,
    "spawning_call_id" TEXT,
    "task" TEXT,
    "task_status" TEXT,
    "created_us" BIGINT NOT NULL,
    "updated_us" BIGINT NOT NULL,

    PRIMARY KEY ("tenant_id", "id")
);

-- CreateTable
CREATE TABLE "session_aliases" (
    "tenant_id" TEXT NOT NULL,
    "alias" TEXT NOT NULL,
    "session_id" TEXT NOT NULL,
    "created_us" BIGINT NOT NULL,

    PRIMARY KEY ("tenant_id", "alias")
) WITHOUT ROWID;

-- CreateTable
CREATE TABLE "branches" (
    "tenant_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "parent_branch_id" TEXT,
    "fork_depth" INTEGER NOT NULL,

    PRIMARY KEY ("tenant_id", "id")
) WITHOUT ROWID;

-- CreateTable
CREATE TABLE "turns" (
    "tenant_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "session_id" TEXT NOT NULL,
    "parent_turn_id" TEXT,
    "branch_id" TEXT,
    "depth" INTEGER,
    "status" TEXT NOT NULL,
    "agent_role" TEXT NOT NULL,
    "model" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "toolset" TEXT NOT NULL,
    "permissions_granted_json" TEXT NOT NULL,
    "permissions_used_json" TEXT NOT NULL,
    "source_event_json" TEXT,
    "workspace_path" TEXT NOT NULL,
    "metadata_json" TEXT NOT NULL,
    "input_tokens" BIGINT,
    "output_tokens" BIGINT,
    "cached_input_tokens" BIGINT,
    "cache_write_tokens" BIGINT,
    "reasoning_tokens" BIGINT,
    "stop_reason" TEXT NOT NULL,
    "error" TEXT NOT NULL,
    "message_count" INTEGER NOT NULL,
    "o200k_tokens" BIGINT NOT NULL,
    "context_o200k_tokens" BIGINT NOT NULL,
    "open_state_json" TEXT NOT NULL,
    "abandoned_items_json" TEXT NOT NULL,
    "content_hash" BLOB,
    "chain_hash" BLOB,
    "created_us" BIGINT NOT NULL,
    "completed_us" BIGINT,

    PRIMARY KEY ("tenant_id", "id")
);

-- CreateTable
CREATE TABLE "messages" (
    "tenant_id" TEXT NOT NULL,
    "turn_id" TEXT NOT NULL,
    "first_index" INTEGER NOT NULL,
    "branch_id" TEXT,
    "depth" INTEGER,
    "message_count" INTEGER NOT NULL,
    "index_json" TEXT NOT NULL,
    "wire" BLOB NOT NULL,

    PRIMARY KEY ("tenant_id", "turn_id", "first_index")
);

-- CreateTable
CREATE TABLE "head_moves" (
    "tenant_id" TEXT NOT NULL,
    "session_id" TEXT NOT NULL,
    "sequence" INTEGER NOT NULL,
    "from_turn_id" TEXT,
    "to_turn_id" TEXT NOT NULL,
    "cause" TEXT NOT NULL,
    "created_us" BIGINT NOT NULL,

    PRIMARY KEY ("tenant_id", "session_id", "sequence")
) WITHOUT ROWID;

-- CreateTable
CREATE TABLE "stored_answers" (
    "tenant_id" TEXT NOT NULL,
    "method" TEXT NOT NULL,
    "request_id" TEXT NOT NULL,
    "request_hash" BLOB NOT NULL,
    "answer" BLOB NOT NULL,
    "session_id" TEXT,
    "created_us" BIGINT NOT NULL,

    PRIMARY KEY ("tenant_id", "method", "request_id")
);

-- CreateTable
CREATE TABLE "erasure_epochs" (
    "tenant_id" TEXT NOT NULL PRIMARY KEY,
    "epoch" INTEGER NOT NULL
);

-- CreateIndex
CREATE INDEX "sessions_tenant_id_head_branch_id_idx" ON "sessions"("tenant_id", "head_branch_id");

-- CreateIndex
CREATE INDEX "sessions_tenant_id_parent_session_id_idx" ON "sessions"("tenant_id", "parent_session_id");

-- CreateIndex
CREATE UNIQUE INDEX "sessions_tenant_id_label_key" ON "sessions"("tenant_id", "label");

-- CreateIndex
CREATE INDEX "session_aliases_tenant_id_session_id_idx" ON "session_aliases"("tenant_id", "session_id");

-- CreateIndex
CREATE INDEX "branches_tenant_id_parent_branch_id_idx" ON "branches"("tenant_id", "parent_branch_id");

-- CreateIndex
CREATE INDEX "turns_tenant_id_session_id_id_idx" ON "turns"("tenant_id", "session_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "turns_tenant_id_branch_id_depth_key" ON "turns"("tenant_id", "branch_id", "depth");

-- CreateIndex
CREATE INDEX "messages_tenant_id_branch_id_depth_first_index_idx" ON "messages"("tenant_id", "branch_id", "depth", "first_index");

-- CreateIndex
CREATE INDEX "stored_answers_created_us_idx" ON "stored_answers"("created_us");

-- CreateIndex
CREATE INDEX "stored_answers_tenant_id_session_id_idx" ON "stored_answers"("tenant_id", "session_id");
