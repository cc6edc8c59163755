-- CreateTable
CREATE TABLE "memory_blocks" (
    "tenant_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "owner_kind" TEXT NOT NULL,
    "owner_name" TEXT NOT NULL,
    "label" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "pinned" BOOLEAN NOT NULL,
    "description" TEXT NOT NULL,
    "permission" TEXT NOT NULL,
    "char_limit" INTEGER NOT NULL,
    "schema" BLOB NOT NULL,
    "revision" INTEGER NOT NULL,
    "snapshot" BLOB NOT NULL,
    "snapshot_revision" INTEGER NOT NULL,
    "text" BLOB NOT NULL,
    "hash" BLOB NOT NULL,
    "chars" INTEGER NOT NULL,
    "o200k_tokens" INTEGER NOT NULL,
    "created_us" BIGINT NOT NULL,
    "updated_us" BIGINT NOT NULL,

    PRIMARY KEY ("tenant_id", "id")
);

-- CreateTable
CREATE TABLE "memory_revisions" (
    "tenant_id" TEXT NOT NULL,
    "block_id" TEXT NOT NULL,
    "revision" INTEGER NOT NULL,
    "kind" TEXT NOT NULL,
    "actor_kind" TEXT NOT NULL,
    "actor_name" TEXT NOT NULL,
    "summary" TEXT NOT NULL,
    "update" BLOB NOT NULL,
    "frontiers" TEXT NOT NULL,
    "schema" BLOB,
    "hash" BLOB NOT NULL,
    "created_us" BIGINT NOT NULL,

    PRIMARY KEY ("tenant_id", "block_id", "revision")
);

-- CreateTable
CREATE TABLE "memory_shares" (
    "tenant_id" TEXT NOT NULL,
    "block_id" TEXT NOT NULL,
    "agent" TEXT NOT NULL,
    "permission" TEXT NOT NULL,
    "created_us" BIGINT NOT NULL,

    PRIMARY KEY ("tenant_id", "block_id", "agent")
);

-- CreateTable
CREATE TABLE "memory_peers" (
    "tenant_id" TEXT NOT NULL,
    "block_id" TEXT NOT NULL,
    "peer" TEXT NOT NULL,
    "actor_kind" TEXT NOT NULL,
    "actor_name" TEXT NOT NULL,
    "created_us" BIGINT NOT NULL,

    PRIMARY KEY ("tenant_id", "block_id", "peer")
);

-- CreateTable
CREATE TABLE "archival_entries" (
    "tenant_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "owner_kind" TEXT NOT NULL,
    "owner_name" TEXT NOT NULL,
    "content" BLOB NOT NULL,
    "metadata_json" TEXT NOT NULL,
    "actor_kind" TEXT NOT NULL,
    "actor_name" TEXT NOT NULL,
    "o200k_tokens" INTEGER NOT NULL,
    "created_us" BIGINT NOT NULL,

    PRIMARY KEY ("tenant_id", "id")
);

-- CreateIndex
CREATE UNIQUE INDEX "memory_blocks_tenant_id_owner_kind_owner_name_label_key" ON "memory_blocks"("tenant_id", "owner_kind", "owner_name", "label");

-- CreateIndex
CREATE INDEX "memory_shares_tenant_id_agent_idx" ON "memory_shares"("tenant_id", "agent");

-- CreateIndex
CREATE INDEX "archival_entries_tenant_id_owner_kind_owner_name_id_idx" ON "archival_entries"("tenant_id", "owner_kind", "owner_name", "id");
