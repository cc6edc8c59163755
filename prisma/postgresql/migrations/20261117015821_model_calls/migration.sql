-- AlterTable
ALTER TABLE "turns" ADD COLUMN     "model_call_count" INTEGER NOT NULL DEFAULT 0;

-- CreateTable
CREATE TABLE "model_calls" (
    "tenant_id" TEXT NOT NULL,
    "turn_id" TEXT NOT NULL,
    "sequence" INTEGER NOT NULL,
    "model" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "assembly_id" TEXT,
    "input_tokens" BIGINT NOT NULL,
    "output_tokens" BIGINT NOT NULL,
    "cached_input_tokens" BIGINT NOT NULL,
    "cache_write_tokens" BIGINT NOT NULL,
    "reasoning_tokens" BIGINT NOT NULL,
    "created_us" BIGINT NOT NULL,

    CONSTRAINT "model_calls_pkey" PRIMARY KEY ("tenant_id","turn_id","sequence")
);
