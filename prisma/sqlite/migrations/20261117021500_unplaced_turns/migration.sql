-- CreateIndex
-- The open and failed turns that hang off a turn. Few turns are in it: those that are finished leave it.
CREATE INDEX "turns_unplaced_parent_idx" ON "turns"("tenant_id", "parent_turn_id") WHERE "branch_id" IS NULL;
