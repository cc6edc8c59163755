import type { Soon } from "../../domain/soon.js";
import type { Dialect, SelectRows, SqlRow } from "../sql.js";

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
export function findSessionRow(
  select: SelectRows,
  lookups: readonly string[],
  tenantId: string,
  name: string,
  from = 0,
): Soon<SqlRow | undefined> {
  for (let at = from; at < lookups.length; at++) {
    const found = select(lookups[at]!, [tenantId, name]);
    if (found instanceof Promise)
      return found.then(([row]) => row ?? findSessionRow(select, lookups, tenantId, name, at + 1));
    if (found[0]) return found[0];
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
