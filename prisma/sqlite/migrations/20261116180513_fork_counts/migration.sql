-- AlterTable
ALTER TABLE "sessions" ADD COLUMN "forked_from_session_id" TEXT;
ALTER TABLE "sessions" ADD COLUMN "fork_count" INTEGER NOT NULL DEFAULT 0;
