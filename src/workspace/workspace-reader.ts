import type { BoundedCache } from "../domain/bounded-cache.js";
import { Caches } from "../domain/caches.js";
import { megabyte, textBytes } from "../domain/memory-size.js";
import type { Soon } from "../domain/soon.js";
import {
  type CapabilitySnapshot,
  type Document,
  DocumentKind,
  type RuntimeFacts,
  type Toolset,
} from "../domain/workspace.js";
import type { DocumentRow, WorkspacePlace } from "../storage/workspace/rows.js";
import type { WorkspaceStore } from "../storage/workspace/workspace-store.js";
import { readToolTokens, type ToolTokens } from "./count-tools.js";
import { viewDocument, viewRuntime, viewSnapshot, viewToolset } from "./views.js";

/** A workspace as an assembly sees it. */
export interface WorkspaceView extends WorkspacePlace {
  readonly name: string;
  readonly path: string;
  readonly runtime: RuntimeFacts | undefined;
  /** The documents that go into prompts, with content: by kind, in the order of DocumentKind, then by path. */
  readonly documents: readonly Document[];
  readonly snapshot: CapabilitySnapshot | undefined;
  readonly snapshotHash: Buffer | undefined;
  readonly snapshotTime: Date | undefined;
}

/** A toolset with the tokens of each of its tools, in order. */
export interface ToolsetView extends Toolset {
  readonly toolTokens: readonly ToolTokens[];
}

const promptKinds: readonly string[] = [
  DocumentKind.RULES,
  DocumentKind.USER_IDENTITY,
  DocumentKind.SOUL,
  DocumentKind.AGENT_IDENTITY,
];
const maxCacheBytes = 64 * megabyte;

interface Cached {
  readonly value: WorkspaceView | ToolsetView | undefined;
  readonly bytes: number;
}

/**
 * Reads workspaces for assemblies. What a revision of a workspace is never changes, so a warm read asks the
 * database only which revision is the newest.
 */
export class WorkspaceReader {
  private readonly cache: BoundedCache<Cached>;

  constructor(
    private readonly store: WorkspaceStore,
    caches = new Caches(),
  ) {
    this.cache = caches.create<Cached>("workspaces", maxCacheBytes, ({ bytes }) => bytes + 1_024);
  }

  resolve(tenantId: string, name: string): Soon<WorkspaceView | undefined> {
    const place = this.store.locate(tenantId, name);
    const find = (at: WorkspacePlace | undefined) => this.find(tenantId, name, at);
    return place instanceof Promise ? place.then(find) : find(place);
  }

  private find(
    tenantId: string,
    name: string,
    place: WorkspacePlace | undefined,
  ): Soon<WorkspaceView | undefined> {
    if (!place) return undefined;
    const known = this.cache.get(keyOf(tenantId, place));
    return known ? (known.value as WorkspaceView) : this.read(tenantId, name);
  }

  private async read(tenantId: string, name: string): Promise<WorkspaceView | undefined> {
    const view = await this.store.steady(tenantId, name, ({ id }) => this.load(tenantId, id));
    if (view) this.cache.set(keyOf(tenantId, view), { value: view, bytes: viewBytes(view) });
    return view;
  }

  async toolset(
    tenantId: string,
    workspaceName: string,
    toolsetName: string,
  ): Promise<ToolsetView | undefined> {
    const place = await this.store.locate(tenantId, workspaceName);
    return place && this.toolsetOf(tenantId, place, toolsetName);
  }

  /** The toolset of a workspace that was resolved already: no query at all when it is warm. */
  toolsetOf(tenantId: string, place: WorkspacePlace, toolsetName: string): Soon<ToolsetView | undefined> {
    const key = `${keyOf(tenantId, place)}/${toolsetName}`;
    const known = this.cache.get(key);
    if (known) return known.value as ToolsetView | undefined;
    return this.readToolset(tenantId, place, toolsetName, key);
  }

  private async readToolset(
    tenantId: string,
    place: WorkspacePlace,
    toolsetName: string,
    key: string,
  ): Promise<ToolsetView | undefined> {
    const row = await this.store.findToolset(tenantId, place.id, toolsetName);
    const [wire] = row ? await this.store.contents(tenantId, [row.hash]) : [];
    const value =
      row && wire ? { ...viewToolset(row, wire), toolTokens: readToolTokens(row.toolTokensJson) } : undefined;
    this.cache.set(key, { value, bytes: toolsetBytes(value, wire) });
    return value;
  }

  private async load(tenantId: string, id: string): Promise<WorkspaceView | undefined> {
    const found = await this.store.findById(tenantId, id);
    if (!found) return undefined;
    const { row } = found;
    const documents = found.documents.filter(({ kind }) => promptKinds.includes(kind)).sort(byKindThenPath);
    const hashes = [...documents.map(({ hash }) => hash), ...(row.snapshotHash ? [row.snapshotHash] : [])];
    const contents = await this.store.contents(tenantId, hashes);
    const snapshot =
      row.snapshotHash && viewSnapshot(contents[documents.length]!, row.snapshotHash, row.snapshotUs ?? 0n);
    return {
      id: row.id,
      revision: row.revision,
      name: row.name,
      path: row.path,
      runtime: viewRuntime(row),
      documents: documents.map((document, index) =>
        viewDocument(document, contents[index]!.toString("utf8")),
      ),
      snapshot: snapshot ?? undefined,
      snapshotHash: snapshot?.hash,
      snapshotTime: snapshot?.snapshotTime,
    };
  }
}

function keyOf(tenantId: string, { id, revision }: WorkspacePlace): string {
  return `${tenantId}/${id}/${revision}`;
}

function byKindThenPath(a: DocumentRow, b: DocumentRow): number {
  const byKind = promptKinds.indexOf(a.kind) - promptKinds.indexOf(b.kind);
  return byKind !== 0 ? byKind : a.path < b.path ? -1 : 1;
}

/** What a view takes in memory, about: its texts, and the objects around them. */
function viewBytes({ documents, snapshot }: WorkspaceView): number {
  const documentBytes = documents.reduce(
    (sum, { path, content }) => sum + 1_024 + textBytes(path) + textBytes(content),
    0,
  );
  return (snapshot?.capabilities ?? []).reduce(
    (sum, { name, category, reason, hint }) =>
      sum + 128 + textBytes(name) + textBytes(category) + textBytes(reason) + textBytes(hint),
    documentBytes,
  );
}

function toolsetBytes(toolset: ToolsetView | undefined, wire: Buffer | undefined): number {
  if (!toolset || !wire) return 0;
  return 2 * wire.length + 768 * toolset.tools.length + 256 * toolset.rules.length;
}
