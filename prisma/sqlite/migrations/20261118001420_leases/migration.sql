-- AlterTable
ALTER TABLE "sessions" ADD COLUMN "lease_expires_us" BIGINT;
ALTER TABLE "sessions" ADD COLUMN "lease_holder" TEXT;
ALTER TABLE "sessions" ADD COLUMN "lease_seconds" INTEGER;
ALTER TABLE "sessions" ADD COLUMN "lease_turn_id" TEXT;

-- AlterTable
ALTER TABLE "turns" ADD COLUMN "interrupted_by_turn_id" TEXT;
