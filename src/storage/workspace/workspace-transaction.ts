import type { PrismaTransaction } from "../database.js";
import { rowRuns } from "../row-runs.js";
import type { Dialect } from "../sql.js";
import { type Content, putContents } from "./content-store.js";
import type { DocumentRow, StoredWorkspace, ToolsetRow, WorkspaceRow } from "./rows.js";

/** What a write may do to a workspace, inside its transaction. */
export class WorkspaceTransaction {
  constructor(
    private readonly tx: PrismaTransaction,
    private readonly tenantId: string,
    private readonly dialect: Dialect,
    readonly nowUs: bigint,
  ) {}

  /** The workspace of a name, which no other transaction changes until this one has ended. */
  async find(name: string): Promise<WorkspaceRow | undefined> {
    const { tx, tenantId } = this;
    if (this.dialect === "postgresql") await tx.$queryRawUnsafe(lockWorkspace, tenantId, name);
    return (await tx.workspace.findFirst({ where: { tenantId, name } })) ?? undefined;
  }

  async insert(row: WorkspaceRow): Promise<void> {
    await this.tx.workspace.create({ data: row });
  }

  /** Counts the revision up: every change of a workspace, or of what is in it, goes through here. */
  async change(row: WorkspaceRow, changes: Partial<WorkspaceRow>): Promise<WorkspaceRow> {
    const { tenantId, id, revision } = row;
    const data = { ...changes, revision: revision + 1 };
    await this.tx.workspace.update({ where: { tenantId_id: { tenantId, id } }, data });
    return { ...row, ...data };
  }

  read(row: WorkspaceRow): Promise<StoredWorkspace> {
    return readStored(this.tx, row);
  }

  /** Removes a workspace and its rows; contents stay, for whoever else refers to them. Gives the number of documents. */
  async remove({ tenantId, id }: WorkspaceRow): Promise<number> {
    const where = { tenantId, workspaceId: id };
    const documents = await this.tx.workspaceDocument.count({ where: { ...where, removedUs: null } });
    await this.tx.workspaceDocument.deleteMany({ where });
    await this.tx.workspaceToolset.deleteMany({ where });
    await this.tx.workspace.delete({ where: { tenantId_id: { tenantId, id } } });
    return documents;
  }

  /** Documents by path, removed ones among them. */
  async documents(
    { tenantId, id }: WorkspaceRow,
    paths: readonly string[],
  ): Promise<ReadonlyMap<string, DocumentRow>> {
    const where = { tenantId, workspaceId: id, path: { in: [...paths] } };
    const rows = await this.tx.workspaceDocument.findMany({ where });
    return new Map(rows.map((row) => [row.path, row]));
  }

  async putDocuments({ tenantId, id }: WorkspaceRow, rows: readonly DocumentRow[]): Promise<void> {
    if (rows.length === 0) return;
    const where = { tenantId, workspaceId: id, path: { in: rows.map(({ path }) => path) } };
    await this.tx.workspaceDocument.deleteMany({ where });
    for (const run of rowRuns(rows)) await this.tx.workspaceDocument.createMany({ data: run });
  }

  /** The toolset of a name, even if it was removed. */
  async toolset({ tenantId, id }: WorkspaceRow, name: string): Promise<ToolsetRow | undefined> {
    const where = { tenantId_workspaceId_name: { tenantId, workspaceId: id, name } };
    return (await this.tx.workspaceToolset.findUnique({ where })) ?? undefined;
  }

  async putToolset(row: ToolsetRow): Promise<void> {
    const { tenantId, workspaceId, name } = row;
    const where = { tenantId_workspaceId_name: { tenantId, workspaceId, name } };
    await this.tx.workspaceToolset.upsert({ where, create: row, update: row });
  }

  putContents(contents: readonly Content[]): Promise<void> {
    return putContents(this.tx, this.tenantId, contents, this.nowUs);
  }
}

const lockWorkspace = "SELECT id FROM workspaces WHERE tenant_id = $1 AND name = $2 FOR UPDATE";

export async function readStored(client: PrismaTransaction, row: WorkspaceRow): Promise<StoredWorkspace> {
  const where = { tenantId: row.tenantId, workspaceId: row.id, removedUs: null };
  const documents = await client.workspaceDocument.findMany({ where, orderBy: { path: "asc" } });
  const toolsets = await client.workspaceToolset.findMany({
    where,
    orderBy: { name: "asc" },
    select: { name: true },
  });
  return { row, documents, toolsets: toolsets.map(({ name }) => name) };
}
