-- CreateTable
CREATE TABLE "sources" (
    "tenant_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "wire" BLOB NOT NULL,
    "updated_us" BIGINT NOT NULL,

    PRIMARY KEY ("tenant_id", "name")
);

-- CreateTable
CREATE TABLE "source_items" (
    "tenant_id" TEXT NOT NULL,
    "agent" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "wire" BLOB NOT NULL,
    "updated_us" BIGINT NOT NULL,
    "expires_us" BIGINT,

    PRIMARY KEY ("tenant_id", "agent", "kind", "key")
);

-- CreateTable
CREATE TABLE "source_observations" (
    "tenant_id" TEXT NOT NULL,
    "agent" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "observed_us" BIGINT NOT NULL,
    "value" REAL NOT NULL,
    "display" TEXT NOT NULL,
    "unit" TEXT NOT NULL,
    "expires_us" BIGINT,

    PRIMARY KEY ("tenant_id", "agent", "kind", "name", "observed_us")
);

-- CreateTable
CREATE TABLE "source_marks" (
    "tenant_id" TEXT NOT NULL,
    "agent" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "revision" INTEGER NOT NULL,
    "present" INTEGER NOT NULL,

    PRIMARY KEY ("tenant_id", "agent", "kind")
);

-- CreateTable
CREATE TABLE "tool_outcomes" (
    "tenant_id" TEXT NOT NULL,
    "agent" TEXT NOT NULL,
    "tool" TEXT NOT NULL,
    "calls" BIGINT NOT NULL,
    "failures" BIGINT NOT NULL,

    PRIMARY KEY ("tenant_id", "agent", "tool")
);

-- CreateTable
CREATE TABLE "tool_outcome_cursors" (
    "tenant_id" TEXT NOT NULL,
    "session_id" TEXT NOT NULL,
    "turn_id" TEXT NOT NULL,
    "open_json" TEXT NOT NULL,

    PRIMARY KEY ("tenant_id", "session_id")
);
