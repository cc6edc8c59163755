-- AlterTable
ALTER TABLE "turns" ADD COLUMN "assembly_id" TEXT;

-- CreateTable
CREATE TABLE "context_pins" (
    "tenant_id" TEXT NOT NULL,
    "session_id" TEXT NOT NULL,
    "model" TEXT NOT NULL,
    "role" TEXT NOT NULL,
    "assembly_id" TEXT NOT NULL,
    "turn_id" TEXT NOT NULL,
    "pinned_us" BIGINT NOT NULL,

    PRIMARY KEY ("tenant_id", "session_id", "model", "role")
);

-- CreateTable
CREATE TABLE "calibrations" (
    "tenant_id" TEXT NOT NULL,
    "model" TEXT NOT NULL,
    "version" INTEGER NOT NULL,
    "ratio" REAL NOT NULL,
    "margin" REAL NOT NULL,
    "evidence" INTEGER NOT NULL,
    "observations_json" TEXT NOT NULL,
    "updated_us" BIGINT NOT NULL,

    PRIMARY KEY ("tenant_id", "model")
);
