-- CreateIndex
CREATE INDEX "memory_blocks_tenant_id_owner_kind_owner_name_updated_us_idx" ON "memory_blocks"("tenant_id", "owner_kind", "owner_name", "updated_us");
