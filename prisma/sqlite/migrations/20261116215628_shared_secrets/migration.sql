-- CreateTable
CREATE TABLE "shared_secrets" (
    "name" TEXT NOT NULL PRIMARY KEY,
    "value" BLOB NOT NULL
);
