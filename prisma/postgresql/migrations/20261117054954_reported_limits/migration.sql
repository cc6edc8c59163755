-- AlterTable
ALTER TABLE "compactions" ADD COLUMN     "recovered_call" TEXT;

-- AlterTable
ALTER TABLE "sessions" ADD COLUMN     "reported_limits_json" TEXT;
