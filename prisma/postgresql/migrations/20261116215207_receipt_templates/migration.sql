-- AlterTable
ALTER TABLE "receipts" ADD COLUMN     "templates_hash" BYTEA;
