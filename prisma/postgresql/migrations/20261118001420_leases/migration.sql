-- AlterTable
ALTER TABLE "sessions" ADD COLUMN     "lease_expires_us" BIGINT,
ADD COLUMN     "lease_holder" TEXT,
ADD COLUMN     "lease_seconds" INTEGER,
ADD COLUMN     "lease_turn_id" TEXT;

-- AlterTable
ALTER TABLE "turns" ADD COLUMN     "interrupted_by_turn_id" TEXT;
