-- AlterTable
ALTER TABLE "compactions" ADD COLUMN "words_json" TEXT;
