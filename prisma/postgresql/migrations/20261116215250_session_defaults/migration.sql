-- AlterTable
ALTER TABLE "sessions" ADD COLUMN     "defaults_json" TEXT,
ADD COLUMN     "tools_json" TEXT;
