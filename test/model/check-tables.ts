import type { Database } from "../../src/storage/database.js";
import { type History, requestIdOf } from "./history.js";

/** The runs of turns that a compaction's thread consists of: up to its anchor, or up to the parent of an anchor without a place. */
const compactedRuns = `WITH RECURSIVE runs (tenant_id, compaction_id, branch_id, to_depth) AS (
  SELECT c.tenant_id, c.id, COALESCE(a.branch_id, p.branch_id), COALESCE(a.depth, p.depth) FROM compactions c
    JOIN turns a ON a.tenant_id = c.tenant_id AND a.id = c.anchor_turn_id
    LEFT JOIN turns p ON p.tenant_id = a.tenant_id AND p.id = a.parent_turn_id
  UNION ALL
  SELECT r.tenant_id, r.compaction_id, b.parent_branch_id, b.fork_depth FROM runs r
    JOIN branches b ON b.tenant_id = r.tenant_id AND b.id = r.branch_id WHERE b.parent_branch_id IS NOT NULL)`;

/** Each query finds rows that must not be there. */
const impossible: Readonly<Record<string, string>> = {
  "messages without a turn":
    "SELECT m.turn_id FROM messages m LEFT JOIN turns t ON t.tenant_id = m.tenant_id AND t.id = m.turn_id WHERE t.id IS NULL",
  "messages that stand elsewhere than their turn":
    "SELECT m.turn_id FROM messages m JOIN turns t ON t.tenant_id = m.tenant_id AND t.id = m.turn_id WHERE COALESCE(m.branch_id, '') <> COALESCE(t.branch_id, '') OR COALESCE(m.depth, 0) <> COALESCE(t.depth, 0)",
  "turns with fewer or more messages than they say":
    "SELECT t.id FROM turns t WHERE t.message_count <> (SELECT COALESCE(SUM(m.message_count), 0) FROM messages m WHERE m.tenant_id = t.tenant_id AND m.turn_id = t.id)",
  "finished turns without a place, and open or failed ones with one":
    "SELECT id FROM turns WHERE (status IN ('TURN_STATUS_COMPLETED', 'TURN_STATUS_AWAITING')) <> (branch_id IS NOT NULL AND depth IS NOT NULL AND chain_hash IS NOT NULL)",
  "turns on a branch that is not there":
    "SELECT t.id FROM turns t LEFT JOIN branches b ON b.tenant_id = t.tenant_id AND b.id = t.branch_id WHERE t.branch_id IS NOT NULL AND b.id IS NULL",
  "branches with gaps, or without turns":
    "SELECT b.id FROM branches b WHERE (SELECT COUNT(*) FROM turns t WHERE t.tenant_id = b.tenant_id AND t.branch_id = b.id AND t.depth > b.fork_depth) <> COALESCE((SELECT MAX(t.depth) - b.fork_depth FROM turns t WHERE t.tenant_id = b.tenant_id AND t.branch_id = b.id), -1)",
  "branches that fork from nothing":
    "SELECT b.id FROM branches b LEFT JOIN turns t ON t.tenant_id = b.tenant_id AND t.branch_id = b.parent_branch_id AND t.depth = b.fork_depth WHERE b.fork_depth > 0 AND t.id IS NULL",
  "turns whose parent is not there":
    "SELECT t.id FROM turns t LEFT JOIN turns p ON p.tenant_id = t.tenant_id AND p.id = t.parent_turn_id WHERE t.parent_turn_id IS NOT NULL AND p.id IS NULL",
  "turns that are not one deeper than their parent":
    "SELECT t.id FROM turns t LEFT JOIN turns p ON p.tenant_id = t.tenant_id AND p.id = t.parent_turn_id WHERE t.depth IS NOT NULL AND t.depth <> COALESCE(p.depth, 0) + 1",
  "heads that are not where their turn is":
    "SELECT s.id FROM sessions s LEFT JOIN turns t ON t.tenant_id = s.tenant_id AND t.id = s.head_turn_id WHERE s.head_depth <> COALESCE(t.depth, 0) OR COALESCE(s.head_branch_id, '') <> COALESCE(t.branch_id, '')",
  "head logs without a session, or of another length":
    "SELECT m.session_id FROM head_moves m LEFT JOIN sessions s ON s.tenant_id = m.tenant_id AND s.id = m.session_id GROUP BY m.session_id, s.head_sequence HAVING COUNT(*) <> COALESCE(s.head_sequence, -1)",
  "compactions that hang off nothing":
    "SELECT c.id FROM compactions c LEFT JOIN turns t ON t.tenant_id = c.tenant_id AND t.id = c.anchor_turn_id WHERE t.id IS NULL",
  "compactions that stand elsewhere than the turn they hang off":
    "SELECT c.id FROM compactions c JOIN turns t ON t.tenant_id = c.tenant_id AND t.id = c.anchor_turn_id WHERE COALESCE(c.branch_id, '') <> COALESCE(t.branch_id, '') OR COALESCE(c.depth, 0) <> COALESCE(t.depth, 0)",
  "compactions that keep from a turn on that is not on their thread": `${compactedRuns}
    SELECT c.id FROM compactions c LEFT JOIN turns k ON k.tenant_id = c.tenant_id AND k.id = c.first_kept_turn_id
    WHERE k.id IS NULL OR (k.id <> c.anchor_turn_id AND NOT EXISTS (SELECT 1 FROM runs r
      WHERE r.tenant_id = c.tenant_id AND r.compaction_id = c.id AND r.branch_id = k.branch_id AND k.depth <= r.to_depth))`,
  "compactions that keep from a message on that is not there":
    "SELECT c.id FROM compactions c JOIN turns k ON k.tenant_id = c.tenant_id AND k.id = c.first_kept_turn_id WHERE c.first_kept_message_index > 0 AND c.first_kept_message_index >= k.message_count",
  "compactions that stand for more or fewer turns than are before what they keep":
    "SELECT c.id FROM compactions c JOIN turns k ON k.tenant_id = c.tenant_id AND k.id = c.first_kept_turn_id LEFT JOIN turns p ON p.tenant_id = k.tenant_id AND p.id = k.parent_turn_id WHERE c.summarized_turns <> COALESCE(p.depth, 0)",
  "compactions whose last summarized turn is not the one before what they keep":
    "SELECT c.id FROM compactions c JOIN turns k ON k.tenant_id = c.tenant_id AND k.id = c.first_kept_turn_id WHERE COALESCE(c.last_summarized_turn_id, '') <> COALESCE(k.parent_turn_id, '')",
  "compactions on top of one that is not there":
    "SELECT c.id FROM compactions c LEFT JOIN compactions p ON p.tenant_id = c.tenant_id AND p.id = c.previous_id WHERE c.previous_id IS NOT NULL AND p.id IS NULL",
  "compactions in force on top of one that is not":
    "SELECT c.id FROM compactions c JOIN compactions p ON p.tenant_id = c.tenant_id AND p.id = c.previous_id WHERE p.applied_us IS NULL",
  "aliases of nobody":
    "SELECT a.alias FROM session_aliases a LEFT JOIN sessions s ON s.tenant_id = a.tenant_id AND s.id = a.session_id WHERE s.id IS NULL",
  "aliases that are another session's label":
    "SELECT a.alias FROM session_aliases a JOIN sessions s ON s.tenant_id = a.tenant_id AND s.label = a.alias WHERE s.id <> a.session_id",
  "stored answers of nobody":
    "SELECT a.request_id FROM stored_answers a LEFT JOIN sessions s ON s.tenant_id = a.tenant_id AND s.id = a.session_id WHERE a.session_id IS NOT NULL AND s.id IS NULL",
};

/** Rows that contradict each other, whatever was written. */
export async function findImpossibleRows(database: Database): Promise<string[]> {
  const faults: string[] = [];
  for (const [fault, query] of Object.entries(impossible)) {
    const rows = await database.sqlReader.query(query, []);
    if (rows.length > 0) faults.push(`${fault}: ${rows.join(", ")}`);
  }
  return faults;
}

/** What no call shows: rows that a refused or failed write left behind. */
export async function checkTables(database: Database, history: History): Promise<string[]> {
  const faults = await findImpossibleRows(database);
  const told = new Set(
    history.operations.filter((op) => op.answer).map((op) => `${op.method}/${requestIdOf(op)}`),
  );
  for (const [method, id] of await database.sqlReader.query(
    "SELECT method, request_id FROM stored_answers",
    [],
  )) {
    const name = `${String(method)[0]!.toLowerCase()}${String(method).slice(1)}/${id}`;
    if (!told.has(name)) faults.push(`an answer to ${name} is stored, but nobody got it`);
  }
  return faults;
}

const contentTables = [
  ...["sessions", "session_aliases", "branches", "turns", "messages", "compactions", "head_moves"],
];

/** After the last session is erased nothing of any conversation is left. */
export async function checkNothingLeft(database: Database): Promise<string[]> {
  const faults: string[] = [];
  for (const table of contentTables) {
    const [row] = await database.sqlReader.query(`SELECT COUNT(*) FROM ${table}`, []);
    if (Number(row![0]) !== 0) faults.push(`${row![0]} rows are left in ${table}`);
  }
  return faults;
}
