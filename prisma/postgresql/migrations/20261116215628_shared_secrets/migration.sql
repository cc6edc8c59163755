-- CreateTable
CREATE TABLE "shared_secrets" (
    "name" TEXT NOT NULL,
    "value" BYTEA NOT NULL,

    CONSTRAINT "shared_secrets_pkey" PRIMARY KEY ("name")
);
