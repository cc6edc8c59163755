import type * as models from "../gen/sqlite/models.js";

export type WorkspaceRow = models.WorkspaceModel;
export type DocumentRow = models.WorkspaceDocumentModel;
export type ToolsetRow = models.WorkspaceToolsetModel;

/** A workspace with what stands in it; without contents, and without what was removed. */
export interface StoredWorkspace {
  readonly row: WorkspaceRow;
  /** By path. */
  readonly documents: readonly DocumentRow[];
  /** In order. */
  readonly toolsets: readonly string[];
}

/** Which state of which workspace: everything that is read under the same one is the same. */
export interface WorkspacePlace {
  readonly id: string;
  readonly revision: number;
}
