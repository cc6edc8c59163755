-- CreateTable
CREATE TABLE "content_blobs" (
    "tenant_id" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "bytes" BYTEA NOT NULL,
    "created_us" BIGINT NOT NULL,

    CONSTRAINT "content_blobs_pkey" PRIMARY KEY ("tenant_id","hash")
);

-- CreateTable
CREATE TABLE "workspaces" (
    "tenant_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "path" TEXT NOT NULL,
    "host" TEXT NOT NULL,
    "os" TEXT NOT NULL,
    "arch" TEXT NOT NULL,
    "revision" INTEGER NOT NULL,
    "capability_count" INTEGER NOT NULL,
    "snapshot_hash" BYTEA,
    "snapshot_us" BIGINT,
    "created_us" BIGINT NOT NULL,
    "updated_us" BIGINT NOT NULL,

    CONSTRAINT "workspaces_pkey" PRIMARY KEY ("tenant_id","id")
);

-- CreateTable
CREATE TABLE "workspace_documents" (
    "tenant_id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "path" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "version" INTEGER NOT NULL,
    "hash" BYTEA NOT NULL,
    "byte_count" INTEGER NOT NULL,
    "o200k_tokens" INTEGER NOT NULL,
    "updated_us" BIGINT NOT NULL,
    "removed_us" BIGINT,

    CONSTRAINT "workspace_documents_pkey" PRIMARY KEY ("tenant_id","workspace_id","path")
);

-- CreateTable
CREATE TABLE "workspace_toolsets" (
    "tenant_id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "version" INTEGER NOT NULL,
    "hash" BYTEA NOT NULL,
    "o200k_tokens" INTEGER NOT NULL,
    "tool_tokens_json" TEXT NOT NULL,
    "updated_us" BIGINT NOT NULL,
    "removed_us" BIGINT,

    CONSTRAINT "workspace_toolsets_pkey" PRIMARY KEY ("tenant_id","workspace_id","name")
);

-- CreateIndex
CREATE INDEX "workspaces_tenant_id_snapshot_hash_idx" ON "workspaces"("tenant_id", "snapshot_hash");

-- CreateIndex
CREATE UNIQUE INDEX "workspaces_tenant_id_name_key" ON "workspaces"("tenant_id", "name");

-- CreateIndex
CREATE INDEX "workspace_documents_tenant_id_hash_idx" ON "workspace_documents"("tenant_id", "hash");

-- CreateIndex
CREATE INDEX "workspace_toolsets_tenant_id_hash_idx" ON "workspace_toolsets"("tenant_id", "hash");
