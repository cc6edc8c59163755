-- CreateTable
CREATE TABLE "search_embedders" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "name" TEXT NOT NULL,
    "dimensions" INTEGER NOT NULL
);

-- CreateTable
CREATE TABLE "search_vectors" (
    "document_id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "partition_id" INTEGER NOT NULL,
    "embedder_id" INTEGER NOT NULL,
    "vector" BLOB NOT NULL,
    "written_us" BIGINT NOT NULL
);

-- CreateTable
CREATE TABLE "embedding_jobs" (
    "document_id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "due_us" BIGINT NOT NULL,
    "refusals" INTEGER NOT NULL
);

-- CreateIndex
CREATE UNIQUE INDEX "search_embedders_name_key" ON "search_embedders"("name");

-- CreateIndex
CREATE INDEX "search_vectors_partition_id_embedder_id_written_us_document_id_idx" ON "search_vectors"("partition_id", "embedder_id", "written_us", "document_id");

-- CreateIndex
CREATE INDEX "search_vectors_embedder_id_idx" ON "search_vectors"("embedder_id");

-- CreateIndex
CREATE INDEX "embedding_jobs_due_us_idx" ON "embedding_jobs"("due_us");

-- A document that goes takes its vector with it, whoever deletes it.
CREATE TRIGGER "search_documents_gone" AFTER DELETE ON "search_documents" BEGIN
  DELETE FROM "search_vectors" WHERE "document_id" = OLD."id";
  DELETE FROM "embedding_jobs" WHERE "document_id" = OLD."id";
END;
