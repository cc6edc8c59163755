-- CreateTable
CREATE TABLE "session_metadata" (
    "tenant_id" TEXT NOT NULL,
    "session_id" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "value_start" BLOB NOT NULL,
    "value" TEXT NOT NULL,

    PRIMARY KEY ("tenant_id", "session_id", "key")
);

-- CreateIndex
CREATE INDEX "session_metadata_tenant_id_key_value_start_session_id_idx" ON "session_metadata"("tenant_id", "key", "value_start", "session_id");

-- What sessions have already.
INSERT INTO "session_metadata" ("tenant_id", "session_id", "key", "value_start", "value")
SELECT s."tenant_id", s."id", m."key", substr(CAST(m."value" AS BLOB), 1, 480), m."value"
FROM "sessions" s, json_each(s."metadata_json") m WHERE s."metadata_json" <> '{}';
