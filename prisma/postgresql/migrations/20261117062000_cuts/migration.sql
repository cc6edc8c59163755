-- AlterTable
ALTER TABLE "compactions" ADD COLUMN     "goal" TEXT NOT NULL DEFAULT '',
ADD COLUMN     "reuse_key" BYTEA;

-- AlterTable
ALTER TABLE "context_pins" DROP CONSTRAINT "context_pins_pkey",
ADD COLUMN     "replay" TEXT NOT NULL DEFAULT 'as_sent',
ADD COLUMN     "limit_tokens" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "compaction_id" TEXT,
ADD CONSTRAINT "context_pins_pkey" PRIMARY KEY ("tenant_id", "session_id", "model", "role", "replay", "limit_tokens");

-- AlterTable
ALTER TABLE "turns" ADD COLUMN     "thread_context_tokens" BIGINT NOT NULL DEFAULT 0,
ADD COLUMN     "thread_messages" BIGINT NOT NULL DEFAULT 0,
ADD COLUMN     "thread_tokens" BIGINT NOT NULL DEFAULT 0;

-- CreateTable
CREATE TABLE "session_compactions" (
    "tenant_id" TEXT NOT NULL,
    "session_id" TEXT NOT NULL,
    "compaction_id" TEXT NOT NULL,
    "before_tokens" BIGINT NOT NULL,
    "before_context_tokens" BIGINT NOT NULL,
    "before_messages" BIGINT NOT NULL,
    "floor_model" TEXT,

    CONSTRAINT "session_compactions_pkey" PRIMARY KEY ("tenant_id","session_id","compaction_id")
);

-- CreateIndex
CREATE INDEX "session_compactions_tenant_id_compaction_id_idx" ON "session_compactions"("tenant_id", "compaction_id");

-- CreateIndex
CREATE INDEX "session_compactions_tenant_id_session_id_before_tokens_idx" ON "session_compactions"("tenant_id", "session_id", "before_tokens");

-- CreateIndex
CREATE INDEX "session_compactions_tenant_id_session_id_floor_model_before_idx" ON "session_compactions"("tenant_id", "session_id", "floor_model", "before_tokens");

-- CreateIndex
CREATE INDEX "compactions_tenant_id_reuse_key_idx" ON "compactions"("tenant_id", "reuse_key");

-- CreateIndex
CREATE INDEX "context_pins_tenant_id_session_id_pinned_us_idx" ON "context_pins"("tenant_id", "session_id", "pinned_us");

-- What each turn costs by itself: messages that are not SYSTEM ones, each with 4 tokens beside its text.
UPDATE "turns" SET "thread_tokens" = "own"."tokens", "thread_context_tokens" = "own"."context_tokens", "thread_messages" = "own"."messages"
FROM (
  SELECT m."tenant_id", m."turn_id", SUM(CAST(e.value->>1 AS BIGINT) + CAST(e.value->>2 AS BIGINT) + 4) AS "tokens", SUM(CAST(e.value->>2 AS BIGINT)) AS "context_tokens", COUNT(*) AS "messages"
  FROM "messages" m, jsonb_array_elements(CAST(m."index_json" AS jsonb)) AS e(value)
  WHERE e.value->>0 <> 'S' GROUP BY m."tenant_id", m."turn_id"
) AS "own"
WHERE "turns"."tenant_id" = "own"."tenant_id" AND "turns"."id" = "own"."turn_id";

-- Results that are made up for calls that a turn gave up, in one message: 6 tokens for each.
UPDATE "turns" SET "thread_tokens" = "thread_tokens" + 4 + 6 * (SELECT COUNT(*) FROM jsonb_array_elements(CAST("turns"."abandoned_items_json" AS jsonb)) AS a(value) WHERE a.value->>'kind' = 'OPEN_ITEM_KIND_TOOL_CALL'), "thread_messages" = "thread_messages" + 1
WHERE "branch_id" IS NOT NULL AND "abandoned_items_json" <> '[]' AND (SELECT COUNT(*) FROM jsonb_array_elements(CAST("turns"."abandoned_items_json" AS jsonb)) AS a(value) WHERE a.value->>'kind' = 'OPEN_ITEM_KIND_TOOL_CALL') > 0;

-- Summed up along each branch.
UPDATE "turns" SET "thread_tokens" = "along"."tokens", "thread_context_tokens" = "along"."context_tokens", "thread_messages" = "along"."messages"
FROM (
  SELECT "tenant_id", "id", SUM("thread_tokens") OVER "so_far" AS "tokens", SUM("thread_context_tokens") OVER "so_far" AS "context_tokens", SUM("thread_messages") OVER "so_far" AS "messages"
  FROM "turns" WHERE "branch_id" IS NOT NULL
  WINDOW "so_far" AS (PARTITION BY "tenant_id", "branch_id" ORDER BY "depth")
) AS "along"
WHERE "turns"."tenant_id" = "along"."tenant_id" AND "turns"."id" = "along"."id";

-- With what the thread cost where the branch forked.
WITH RECURSIVE "bases" ("tenant_id", "branch_id", "tokens", "context_tokens", "messages") AS (
  SELECT "tenant_id", "id", CAST(0 AS BIGINT), CAST(0 AS BIGINT), CAST(0 AS BIGINT) FROM "branches" WHERE "parent_branch_id" IS NULL
  UNION ALL
  SELECT b."tenant_id", b."id", p."tokens" + t."thread_tokens", p."context_tokens" + t."thread_context_tokens", p."messages" + t."thread_messages"
  FROM "bases" p
  JOIN "branches" b ON b."tenant_id" = p."tenant_id" AND b."parent_branch_id" = p."branch_id"
  JOIN "turns" t ON t."tenant_id" = b."tenant_id" AND t."branch_id" = b."parent_branch_id" AND t."depth" = b."fork_depth"
)
UPDATE "turns" SET "thread_tokens" = "thread_tokens" + "bases"."tokens", "thread_context_tokens" = "thread_context_tokens" + "bases"."context_tokens", "thread_messages" = "thread_messages" + "bases"."messages"
FROM "bases"
WHERE "turns"."tenant_id" = "bases"."tenant_id" AND "turns"."branch_id" = "bases"."branch_id" AND "bases"."messages" > 0;

-- Until now a compaction applied to every thread that contains its turn: those who see it keep it, and so does who made it.
INSERT INTO "session_compactions" ("tenant_id", "session_id", "compaction_id", "before_tokens", "before_context_tokens", "before_messages", "floor_model")
WITH RECURSIVE "reached" ("tenant_id", "session_id", "branch_id", "depth") AS (
  SELECT "tenant_id", "id", "head_branch_id", "head_depth" FROM "sessions" WHERE "head_branch_id" IS NOT NULL
  UNION ALL
  SELECT r."tenant_id", r."session_id", b."parent_branch_id", b."fork_depth"
  FROM "reached" r JOIN "branches" b ON b."tenant_id" = r."tenant_id" AND b."id" = r."branch_id"
  WHERE b."parent_branch_id" IS NOT NULL
),
"held" ("tenant_id", "session_id", "compaction_id") AS (
  SELECT r."tenant_id", r."session_id", c."id"
  FROM "reached" r JOIN "compactions" c ON c."tenant_id" = r."tenant_id" AND c."branch_id" = r."branch_id" AND c."depth" <= r."depth"
  UNION
  SELECT c."tenant_id", c."session_id", c."id"
  FROM "compactions" c JOIN "sessions" s ON s."tenant_id" = c."tenant_id" AND s."id" = c."session_id"
)
SELECT h."tenant_id", h."session_id", h."compaction_id", COALESCE(t."thread_tokens", 0), COALESCE(t."thread_context_tokens", 0), COALESCE(t."thread_messages", 0),
  CASE c."trigger" WHEN 'COMPACTION_TRIGGER_MANUAL' THEN '' END
FROM "held" h
JOIN "compactions" c ON c."tenant_id" = h."tenant_id" AND c."id" = h."compaction_id"
LEFT JOIN "turns" t ON t."tenant_id" = c."tenant_id" AND t."id" = c."last_summarized_turn_id";

DELETE FROM "compactions" WHERE NOT EXISTS (
  SELECT 1 FROM "session_compactions" h WHERE h."tenant_id" = "compactions"."tenant_id" AND h."compaction_id" = "compactions"."id"
);
