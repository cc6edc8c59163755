import { DocumentKind } from "../domain/workspace.js";

const byName: ReadonlyMap<string, DocumentKind> = new Map([
  ["AGENTS.md", DocumentKind.RULES],
  ["SOUL.md", DocumentKind.SOUL],
  ["IDENTITY.md", DocumentKind.AGENT_IDENTITY],
  ["user/IDENTITY.md", DocumentKind.USER_IDENTITY],
  ["USER.md", DocumentKind.USER_IDENTITY],
]);

/** The kind that was given, or the one that the document's name stands for. */
export function documentKind(path: string, given: DocumentKind): DocumentKind {
  return given === DocumentKind.UNSPECIFIED ? (byName.get(path) ?? DocumentKind.OTHER) : given;
}
