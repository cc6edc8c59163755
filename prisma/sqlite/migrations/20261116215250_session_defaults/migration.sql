-- AlterTable
ALTER TABLE "sessions" ADD COLUMN "defaults_json" TEXT;
ALTER TABLE "sessions" ADD COLUMN "tools_json" TEXT;
