-- CreateTable
CREATE TABLE "search_embedders" (
    "id" SERIAL NOT NULL,
    "name" TEXT NOT NULL,
    "dimensions" INTEGER NOT NULL,

    CONSTRAINT "search_embedders_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "search_vectors" (
    "document_id" INTEGER NOT NULL,
    "partition_id" INTEGER NOT NULL,
    "embedder_id" INTEGER NOT NULL,
    "vector" BYTEA NOT NULL,
    "written_us" BIGINT NOT NULL,

    CONSTRAINT "search_vectors_pkey" PRIMARY KEY ("document_id")
);

-- CreateTable
CREATE TABLE "embedding_jobs" (
    "document_id" INTEGER NOT NULL,
    "due_us" BIGINT NOT NULL,
    "refusals" INTEGER NOT NULL,

    CONSTRAINT "embedding_jobs_pkey" PRIMARY KEY ("document_id")
);

-- CreateIndex
CREATE UNIQUE INDEX "search_embedders_name_key" ON "search_embedders"("name");

-- CreateIndex
CREATE INDEX "search_vectors_partition_id_embedder_id_written_us_document_idx" ON "search_vectors"("partition_id", "embedder_id", "written_us", "document_id");

-- CreateIndex
CREATE INDEX "search_vectors_embedder_id_idx" ON "search_vectors"("embedder_id");

-- CreateIndex
CREATE INDEX "embedding_jobs_due_us_idx" ON "embedding_jobs"("due_us");

-- A document that goes takes its vector with it, whoever deletes it.
CREATE FUNCTION "search_documents_gone"() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM "search_vectors" WHERE "document_id" IN (SELECT "id" FROM gone);
  DELETE FROM "embedding_jobs" WHERE "document_id" IN (SELECT "id" FROM gone);
  RETURN NULL;
END $$;
CREATE TRIGGER "search_documents_gone" AFTER DELETE ON "search_documents"
REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION "search_documents_gone"();
