/** The file of an embedded database. The storage room is loaded only when it is asked for: it takes a while. */
export async function embeddedPath(url: string): Promise<string> {
  const { sqlitePath } = await import("../storage/database.js");
  return sqlitePath(url);
}
