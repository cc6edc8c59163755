// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/;

/**
 * Why a text cannot be the path of a document, in words that follow its name; undefined when it can. A path stays inside its workspace wherever
 * somebody writes the documents to files: on any system it leads down from the root, and has one spelling.
 */
export function documentPathProblem(path: string): string | undefined {
  if (controlCharacter.test(path)) return "holds a control character";
  if (path.includes("\\")) return "holds a backslash: folders are divided by /";
  if (/^[A-Za-z]:/.test(path)) return "begins with a drive letter";
  if (path.startsWith("/")) return "is absolute: it must lead down from the workspace";
  const segments = path.split("/");
  if (segments.includes("")) return "has an empty segment";
  if (segments.some((segment) => segment === "." || segment === "..")) return 'has a segment "." or ".."';
  return undefined;
}
