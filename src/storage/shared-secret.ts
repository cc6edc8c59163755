import { randomBytes } from "node:crypto";
import type { Database } from "./database.js";

/** A random key that all servers of a database have in common, made by the first that asks for it. */
export async function sharedSecret(database: Database, name: string): Promise<Buffer> {
  const find = () => database.reader.sharedSecret.findUnique({ where: { name } });
  const found = await find();
  if (found) return Buffer.from(found.value);
  await database.transaction((tx) =>
    tx.sharedSecret.upsert({ where: { name }, create: { name, value: randomBytes(32) }, update: {} }),
  );
  return Buffer.from((await find())!.value);
}
