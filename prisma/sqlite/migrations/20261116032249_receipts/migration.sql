-- CreateTable
CREATE TABLE "receipts" (
    "tenant_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "session_id" TEXT NOT NULL,
    "wire" BLOB NOT NULL,
    "context_wire" BLOB NOT NULL,
    "system_hash" BLOB NOT NULL,
    "tools_hash" BLOB NOT NULL,
    "created_us" BIGINT NOT NULL,

    PRIMARY KEY ("tenant_id", "id")
);

-- CreateTable
CREATE TABLE "receipt_blobs" (
    "tenant_id" TEXT NOT NULL,
    "hash" BLOB NOT NULL,
    "bytes" BLOB NOT NULL,
    "last_used_us" BIGINT NOT NULL,

    PRIMARY KEY ("tenant_id", "hash")
);

-- CreateIndex
CREATE INDEX "receipts_tenant_id_session_id_idx" ON "receipts"("tenant_id", "session_id");

-- CreateIndex
CREATE INDEX "receipts_created_us_idx" ON "receipts"("created_us");

-- CreateIndex
CREATE INDEX "receipt_blobs_last_used_us_idx" ON "receipt_blobs"("last_used_us");
