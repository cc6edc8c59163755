-- CreateTable
CREATE TABLE "session_metadata" (
    "tenant_id" TEXT NOT NULL,
    "session_id" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "value_start" BYTEA NOT NULL,
    "value" TEXT NOT NULL,

    CONSTRAINT "session_metadata_pkey" PRIMARY KEY ("tenant_id","session_id","key")
);

-- CreateIndex
CREATE INDEX "session_metadata_tenant_id_key_value_start_session_id_idx" ON "session_metadata"("tenant_id", "key", "value_start", "session_id");

-- What sessions have already.
INSERT INTO "session_metadata" ("tenant_id", "session_id", "key", "value_start", "value")
SELECT s."tenant_id", s."id", m."key", substring(convert_to(m."value", 'UTF8') FROM 1 FOR 480), m."value"
FROM "sessions" s, json_each_text(s."metadata_json"::json) m WHERE s."metadata_json" <> '{}';
