import type { Dialect, Sql, SqlRow } from "../sql.js";

/** How a session, `s`, is found by a name: by its label, else by its id, else by an alias. */
const conditions = [
  "s.label = ?",
  "s.id = ?",
  "s.id = (SELECT a.session_id FROM session_aliases a WHERE a.tenant_id = s.tenant_id AND a.alias = ?)",
];

/** The ways to look a session up with a SELECT that ends in `WHERE s.tenant_id = ? AND`. Made once: long texts are slow to compare. */
export function sessionLookups(select: string): readonly string[] {
  return conditions.map((where) => `${select} ${where}`);
}

/** The first row that one of the lookups finds. */
export async function findSessionRow(
  sql: Sql,
  lookups: readonly string[],
  tenantId: string,
  name: string,
): Promise<SqlRow | undefined> {
  for (const lookup of lookups) {
    const [row] = await sql.query(lookup, [tenantId, name]);
    if (row) return row;
  }
  return undefined;
}

/** All names of a session in one value: each row would cost more than they do. */
export const aliasesOf: Readonly<Record<Dialect, string>> = {
  sqlite:
    "(SELECT json_group_array(a.alias ORDER BY a.alias) FROM session_aliases a WHERE a.tenant_id = s.tenant_id AND a.session_id = s.id)",
  postgresql:
    "(SELECT json_agg(a.alias ORDER BY a.alias)::text FROM session_aliases a WHERE a.tenant_id = s.tenant_id AND a.session_id = s.id)",
};
