-- CreateTable
CREATE TABLE "capsules" (
    "tenant_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "latest_version" INTEGER NOT NULL,

    CONSTRAINT "capsules_pkey" PRIMARY KEY ("tenant_id","id")
);

-- CreateTable
CREATE TABLE "capsule_versions" (
    "tenant_id" TEXT NOT NULL,
    "capsule_id" TEXT NOT NULL,
    "version" INTEGER NOT NULL,
    "hash" BYTEA NOT NULL,
    "cause" TEXT NOT NULL,
    "created_us" BIGINT NOT NULL,
    "body_bytes" INTEGER NOT NULL,
    "body" BYTEA NOT NULL,

    CONSTRAINT "capsule_versions_pkey" PRIMARY KEY ("tenant_id","capsule_id","version")
);

-- CreateIndex
CREATE UNIQUE INDEX "capsules_tenant_id_name_key" ON "capsules"("tenant_id", "name");

-- CreateIndex
CREATE INDEX "capsule_versions_tenant_id_hash_idx" ON "capsule_versions"("tenant_id", "hash");
