import type { Dirent } from "node:fs";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { join, parse, resolve, sep } from "node:path";
import type { CapabilitySnapshot, Toolset } from "../../contract/gen/quire/v1/workspace.js";
import { snapshotJson, toolsetJson } from "../../contract/proto-json.js";
import { documentPathProblem } from "../../domain/document-path.js";
import { CliError } from "../cli-error.js";

const maxDocumentBytes = 1024 * 1024;

export interface LocalDocument {
  /** From the folder on, with forward slashes. */
  readonly path: string;
  readonly content: string;
}

/** A file that would be a document, and is none. */
export interface SkippedFile {
  readonly path: string;
  readonly why: string;
}

/** What a folder holds that a workspace keeps. */
export interface WorkspaceFolder {
  readonly root: string;
  /** By path. */
  readonly documents: readonly LocalDocument[];
  readonly snapshot: CapabilitySnapshot | undefined;
  readonly toolsets: readonly Toolset[];
  readonly skipped: readonly SkippedFile[];
  /** Every folder that was looked at, which is what a watcher has to watch. */
  readonly folders: readonly string[];
}

export async function readFolder(folder: string): Promise<WorkspaceFolder> {
  const root = await realpath(folder).catch(() => {
    throw new CliError(`${folder} is no folder that can be read`);
  });
  if (!(await stat(root)).isDirectory()) throw new CliError(`${folder} is no folder`);
  const documents: LocalDocument[] = [];
  const skipped: SkippedFile[] = [];
  const folders: string[] = [];
  const visit = async (at: string, prefix: string): Promise<void> => {
    folders.push(at);
    for (const entry of await entriesOf(at)) {
      const path = `${prefix}${entry.name}`;
      if (entry.isDirectory()) await visit(join(at, entry.name), `${path}/`);
      else if (entry.isSymbolicLink() && (await isFolder(join(at, entry.name))))
        skipped.push({ path, why: "is a link to a folder, which is not followed" });
      else if (/\.md$/i.test(entry.name)) {
        const found = await readDocument(root, join(at, entry.name), path);
        if (found && "content" in found) documents.push(found);
        else if (found) skipped.push(found);
      }
    }
  };
  await visit(root, "");
  documents.sort((a, b) => (a.path < b.path ? -1 : 1));
  const snapshot = await readCapabilities(root, skipped);
  const toolsets = await readToolsets(root, skipped);
  return { root, documents, snapshot, toolsets, skipped, folders };
}

/** A folder that goes while it is read has nothing in it any more. */
async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error) =>
    unlessGone<Dirent[]>(error),
  );
  return (entries ?? []).filter(({ name }) => !name.startsWith(".") && name !== "node_modules");
}

const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Undefined for what is not there any more, is no file, or leads out of the folder. */
async function readDocument(
  root: string,
  file: string,
  path: string,
): Promise<LocalDocument | SkippedFile | undefined> {
  const target = await realpath(file).catch(() => "");
  const facts = await stat(target).catch(() => undefined);
  if (!facts?.isFile()) return undefined;
  if (!isInside(root, target)) return { path, why: leadsOut };
  if ([...path].length > 1_024 || documentPathProblem(path) !== undefined)
    return { path, why: "has a name that no document may have" };
  if (facts.size > maxDocumentBytes) return { path, why: "is larger than 1 MiB" };
  const bytes = await readFile(target).catch((error) => unlessGone<Buffer>(error));
  if (!bytes) return undefined;
  try {
    return { path, content: strictDecoder.decode(bytes) };
  } catch {
    return { path, why: "is not UTF-8" };
  }
}

const leadsOut = "is a link that leads out of the folder";

function isInside(root: string, target: string): boolean {
  return target.startsWith(root.endsWith(sep) ? root : root + sep);
}

async function isFolder(path: string): Promise<boolean> {
  const facts = await stat(path).catch(() => undefined);
  return facts?.isDirectory() ?? false;
}

async function readCapabilities(
  root: string,
  skipped: SkippedFile[],
): Promise<CapabilitySnapshot | undefined> {
  const text = await readText(root, "capabilities.json", skipped);
  return text === undefined ? undefined : snapshotJson.parse(text, "capabilities.json");
}

/** A toolset without a name has its file's. */
async function readToolsets(root: string, skipped: SkippedFile[]): Promise<readonly Toolset[]> {
  const folder = resolve(root, "toolsets");
  const names = await readdir(folder).catch((error) => unlessGone<string[]>(error));
  const toolsets: Toolset[] = [];
  for (const file of (names ?? []).filter((name) => name.endsWith(".json") && !name.startsWith(".")).sort()) {
    const text = await readText(root, `toolsets/${file}`, skipped);
    if (text === undefined) continue;
    const toolset = toolsetJson.parse(text, `toolsets/${file}`);
    toolsets.push({ ...toolset, name: toolset.name || parse(file).name });
  }
  return toolsets;
}

/** A file of the folder by its path in it; undefined where there is none, or it leads out of the folder. */
async function readText(root: string, path: string, skipped: SkippedFile[]): Promise<string | undefined> {
  const target = await realpath(join(root, path)).catch((error) => unlessGone<string>(error));
  if (target === undefined) return undefined;
  if (!isInside(root, target)) {
    skipped.push({ path, why: leadsOut });
    return undefined;
  }
  const text = await readFile(target, "utf8").catch((error) => unlessGone<string>(error));
  return text?.replace(/^\uFEFF/, "");
}

function unlessGone<T>(error: NodeJS.ErrnoException): T | undefined {
  if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
  throw new CliError(`the folder cannot be read: ${error.message}`);
}
