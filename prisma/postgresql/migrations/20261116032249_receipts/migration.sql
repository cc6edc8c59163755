-- CreateTable
CREATE TABLE "receipts" (
    "tenant_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "session_id" TEXT NOT NULL,
    "wire" BYTEA NOT NULL,
    "context_wire" BYTEA NOT NULL,
    "system_hash" BYTEA NOT NULL,
    "tools_hash" BYTEA NOT NULL,
    "created_us" BIGINT NOT NULL,

    CONSTRAINT "receipts_pkey" PRIMARY KEY ("tenant_id","id")
);

-- CreateTable
CREATE TABLE "receipt_blobs" (
    "tenant_id" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "bytes" BYTEA NOT NULL,
    "last_used_us" BIGINT NOT NULL,

    CONSTRAINT "receipt_blobs_pkey" PRIMARY KEY ("tenant_id","hash")
);

-- CreateIndex
CREATE INDEX "receipts_tenant_id_session_id_idx" ON "receipts"("tenant_id", "session_id");

-- CreateIndex
CREATE INDEX "receipts_created_us_idx" ON "receipts"("created_us");

-- CreateIndex
CREATE INDEX "receipt_blobs_last_used_us_idx" ON "receipt_blobs"("last_used_us");
