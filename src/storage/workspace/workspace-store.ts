import type { Soon } from "../../domain/soon.js";
import { QuireError } from "../../errors/quire-error.js";
import type { Database, PrismaTransaction } from "../database.js";
import { groupBy } from "../group-by.js";
import { inSlices } from "../in-slices.js";
import type { RememberedRead } from "../remembered-reads.js";
import { asStorageError } from "../storage-error.js";
import { idempotentWrite, type WriteKey } from "../stored-answers.js";
import { readContents } from "./content-store.js";
import type { DocumentRow, StoredWorkspace, ToolsetRow, WorkspacePlace } from "./rows.js";
import { readStored, WorkspaceTransaction } from "./workspace-transaction.js";

const steadyAttempts = 5;

/** Workspaces as they are stored. */
export class WorkspaceStore {
  private readonly places: RememberedRead<WorkspacePlace | undefined>;

  constructor(private readonly database: Database) {
    this.places = database.remember({
      tables: ["workspaces"],
      text: selectPlace,
      read: ([row]) => row && { id: row[0] as string, revision: Number(row[1]) },
    });
  }

  /** One cheap read at most: which workspace has the name, and what state it is in. */
  locate(tenantId: string, name: string): Soon<WorkspacePlace | undefined> {
    return this.places(tenantId, name);
  }

  async require(tenantId: string, name: string): Promise<WorkspacePlace> {
    const place = await this.locate(tenantId, name);
    if (!place) throw workspaceNotFound(name);
    return place;
  }

  async find(tenantId: string, name: string): Promise<StoredWorkspace> {
    const found = await this.steady(tenantId, name, ({ id }) => this.findById(tenantId, id));
    if (!found) throw workspaceNotFound(name);
    return found;
  }

  async findById(tenantId: string, id: string): Promise<StoredWorkspace | undefined> {
    return this.reading(async (client) => {
      const row = await client.workspace.findFirst({ where: { tenantId, id } });
      return row ? readStored(client, row) : undefined;
    });
  }

  /**
   * What several reads of one workspace give when no write came between them. A workspace that never holds still
   * is read as it is, in the end.
   */
  async steady<T>(
    tenantId: string,
    name: string,
    read: (place: WorkspacePlace) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    let place = await this.locate(tenantId, name);
    for (let attempt = 1; place && attempt <= steadyAttempts; attempt++) {
      const found = await read(place);
      const after = await this.locate(tenantId, name);
      const isSteady = after?.id === place.id && after.revision === place.revision;
      if (found !== undefined && (isSteady || attempt === steadyAttempts)) return found;
      place = after;
    }
    return undefined;
  }

  /** Workspaces by name, after a name. Their documents are left out. */
  async list(tenantId: string, afterName: string, limit: number): Promise<StoredWorkspace[]> {
    return inSlices(limit, (some, last: StoredWorkspace | undefined) =>
      this.listSlice(tenantId, last?.row.name ?? afterName, some),
    );
  }

  private async listSlice(tenantId: string, afterName: string, limit: number): Promise<StoredWorkspace[]> {
    return this.reading(async (client) => {
      const rows = await client.workspace.findMany({
        where: { tenantId, ...(afterName ? { name: { gt: afterName } } : {}) },
        orderBy: { name: "asc" },
        take: limit,
      });
      const toolsets = await client.workspaceToolset.findMany({
        where: { tenantId, workspaceId: { in: rows.map(({ id }) => id) }, removedUs: null },
        orderBy: { name: "asc" },
        select: { workspaceId: true, name: true },
      });
      const byWorkspace = groupBy(toolsets, ({ workspaceId }) => workspaceId);
      return rows.map((row) => ({
        row,
        documents: [],
        toolsets: (byWorkspace.get(row.id) ?? []).map(({ name }) => name),
      }));
    });
  }

  async findDocument(tenantId: string, workspaceId: string, path: string): Promise<DocumentRow | undefined> {
    const where = { tenantId, workspaceId, path, removedUs: null };
    return this.reading(async (client) => (await client.workspaceDocument.findFirst({ where })) ?? undefined);
  }

  async findToolset(tenantId: string, workspaceId: string, name: string): Promise<ToolsetRow | undefined> {
    const where = { tenantId, workspaceId, name, removedUs: null };
    return this.reading(async (client) => (await client.workspaceToolset.findFirst({ where })) ?? undefined);
  }

  /** The bytes of each hash, in order. */
  async contents(tenantId: string, hashes: readonly Uint8Array[]): Promise<readonly Buffer[]> {
    if (hashes.length === 0) return [];
    const found = await this.reading((client) => readContents(client, tenantId, hashes));
    return hashes.map((hash) => {
      const bytes = found.get(Buffer.from(hash).toString("hex"));
      if (!bytes)
        throw new QuireError("INTERNAL", "internal error", { cause: new Error("a stored content is gone") });
      return bytes;
    });
  }

  /** One idempotent write to workspaces. */
  write<Answer>(
    key: WriteKey<Answer>,
    nowUs: bigint,
    work: (workspaces: WorkspaceTransaction) => Promise<Answer>,
  ): Promise<Answer> {
    return idempotentWrite(this.database, key, nowUs, async (tx) => {
      const workspaces = new WorkspaceTransaction(tx, key.tenantId, this.database.dialect, nowUs);
      return { answer: await work(workspaces), sessionId: null };
    });
  }

  private async reading<T>(work: (client: PrismaTransaction) => Promise<T>): Promise<T> {
    try {
      return await work(this.database.reader);
    } catch (error) {
      throw asStorageError(error);
    }
  }
}

const selectPlace = "SELECT id, revision FROM workspaces WHERE tenant_id = ? AND name = ?";

export function workspaceNotFound(workspace: string): QuireError {
  return new QuireError("WORKSPACE_NOT_FOUND", `there is no workspace ${JSON.stringify(workspace)}`, {
    metadata: { workspace },
  });
}
