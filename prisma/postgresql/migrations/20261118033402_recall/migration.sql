-- CreateTable
CREATE TABLE "search_partitions" (
    "id" SERIAL NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "owner_kind" TEXT NOT NULL,
    "owner_name" TEXT NOT NULL,

    CONSTRAINT "search_partitions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "search_documents" (
    "id" SERIAL NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "partition_id" INTEGER NOT NULL,
    "ref_id" TEXT NOT NULL,
    "message_index" INTEGER NOT NULL,
    "session_id" TEXT,
    "branch_id" TEXT,
    "depth" INTEGER,
    "time_us" BIGINT NOT NULL,
    "speaker" TEXT NOT NULL,
    "role" TEXT NOT NULL,
    "flags" INTEGER NOT NULL,
    "term_count" INTEGER NOT NULL,
    "o200k_tokens" INTEGER NOT NULL,
    "metadata_json" TEXT NOT NULL,
    "content_hash" BYTEA NOT NULL,

    CONSTRAINT "search_documents_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "search_pending" (
    "tenant_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "ref_id" TEXT NOT NULL,

    CONSTRAINT "search_pending_pkey" PRIMARY KEY ("tenant_id","kind","ref_id")
);

-- CreateIndex
CREATE UNIQUE INDEX "search_partitions_tenant_id_kind_owner_kind_owner_name_key" ON "search_partitions"("tenant_id", "kind", "owner_kind", "owner_name");

-- CreateIndex
CREATE INDEX "search_documents_partition_id_id_idx" ON "search_documents"("partition_id", "id");

-- CreateIndex
CREATE INDEX "search_documents_tenant_id_ref_id_message_index_idx" ON "search_documents"("tenant_id", "ref_id", "message_index");

-- CreateIndex
CREATE INDEX "search_documents_tenant_id_branch_id_depth_idx" ON "search_documents"("tenant_id", "branch_id", "depth");

-- What was written before there was a search is indexed in the background.
INSERT INTO "search_pending" ("tenant_id", "kind", "ref_id")
SELECT "tenant_id", 'turn', "id" FROM "turns" WHERE "branch_id" IS NOT NULL;
INSERT INTO "search_pending" ("tenant_id", "kind", "ref_id")
SELECT "tenant_id", 'block', "id" FROM "memory_blocks";
INSERT INTO "search_pending" ("tenant_id", "kind", "ref_id")
SELECT "tenant_id", 'archival', "id" FROM "archival_entries";
