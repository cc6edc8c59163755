-- DropIndex
DROP INDEX "sessions_tenant_id_parent_session_id_idx";

-- CreateIndex
CREATE INDEX "sessions_tenant_id_parent_session_id_id_idx" ON "sessions"("tenant_id", "parent_session_id", "id");

-- CreateIndex
CREATE INDEX "sessions_tenant_id_task_status_id_idx" ON "sessions"("tenant_id", "task_status", "id");

-- CreateIndex
-- Labels by their bytes, for prefixes: the other index has them in the order of the database's collation.
CREATE INDEX "sessions_label_bytes_idx" ON "sessions"("tenant_id", "label" COLLATE "C") WHERE "label" IS NOT NULL;
