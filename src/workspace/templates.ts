import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { sha256 } from "../domain/hash.js";
import { ownBytes } from "../domain/memory-size.js";
import {
  defaultPromptTexts,
  type PromptTextName,
  type PromptTexts,
  promptTextNames,
} from "../domain/prompt-texts.js";
import type { Soon } from "../domain/soon.js";
import { type Warning, WarningKind, warning } from "../domain/warning.js";
import { type TextsFound, WatchedTexts, type WatchedTextsOptions } from "./watched-texts.js";

/** The texts in force, as one assembly uses them from its beginning to its end. */
export interface PromptTemplates {
  readonly texts: PromptTexts;
  /** All of them, as receipts keep them. */
  readonly bytes: Buffer;
  readonly hash: Buffer;
  readonly warnings: readonly Warning[];
}

/** Where the templates come from. */
export interface TemplateSource {
  current(): Soon<PromptTemplates>;
}

export const maxTemplateBytes = 64 * 1024;

/** The default texts, with the files of a folder (`worker.md`, `current-time.md`, ...) in their place. A change applies to the next assembly. */
export class TemplateFolder implements TemplateSource {
  private readonly watched: WatchedTexts;
  private read: TextsFound | undefined;
  private listed: readonly string[] = [];
  private known: PromptTemplates = templatesOf(defaultPromptTexts, []);

  constructor(
    private readonly folder: string,
    options: Omit<WatchedTextsOptions, "maxBytes"> = {},
  ) {
    this.watched = new WatchedTexts(() => this.files(), { ...options, maxBytes: maxTemplateBytes });
  }

  current(): Soon<PromptTemplates> {
    const found = this.watched.read();
    return found instanceof Promise ? found.then((texts) => this.inForce(texts)) : this.inForce(found);
  }

  private inForce(found: TextsFound): PromptTemplates {
    if (found !== this.read) {
      this.known = this.made(found);
      this.read = found;
    }
    return this.known;
  }

  private files(): readonly string[] {
    const { folder } = this;
    if (folder === "") return [];
    try {
      const names = readdirSync(folder).filter((file) => fileNames.has(file));
      this.listed = names.sort().map((file) => join(folder, file));
      return this.listed;
    } catch (error) {
      const isGone = error instanceof Error && "code" in error && error.code === "ENOENT";
      return isGone ? [] : [folder, ...this.listed];
    }
  }

  private made({ texts, problems }: TextsFound): PromptTemplates {
    const textOf = (name: PromptTextName) => {
      const text = texts.get(join(this.folder, fileOf(name)));
      const written = text === undefined ? defaultPromptTexts[name] : asWritten(name, text);
      return isNeeded(name) && written.trim() === "" ? defaultPromptTexts[name] : written;
    };
    const warnings = [...problems].map(([path, problem]) => {
      const which = path === this.folder ? "the folder of templates" : `the template ${basename(path)}`;
      const detail = `${which} is not used: ${problem}; the text before stays in force`;
      return warning(WarningKind.TEMPLATE_NOT_READ, detail);
    });
    return templatesOf(
      Object.fromEntries(promptTextNames.map((name) => [name, textOf(name)])) as Record<
        PromptTextName,
        string
      >,
      warnings,
    );
  }
}

/** The texts that a receipt keeps; those that came later have their defaults. */
export function parseTemplates(bytes: Buffer): PromptTexts {
  return { ...defaultPromptTexts, ...(JSON.parse(bytes.toString("utf8")) as Partial<PromptTexts>) };
}

function templatesOf(texts: PromptTexts, warnings: readonly Warning[]): PromptTemplates {
  const bytes = ownBytes(Buffer.from(JSON.stringify(texts)));
  return { texts, bytes, hash: sha256(bytes), warnings };
}

/**
 * Providers refuse a body with an empty text where these stand, a summary is read again by its words, and a model that writes one must be told what
 * is material.
 */
function isNeeded(name: PromptTextName): boolean {
  return /^(body|transcript|extract)-/.test(name) || name === "summary-material";
}

/** What follows one of these, or stands in a line of its own, is told from it by the end of the line. */
function isOneLine(name: PromptTextName): boolean {
  return /^(transcript|extract)-/.test(name) || name === "summary-mark";
}

function fileOf(name: PromptTextName): string {
  return `${name}.md`;
}

const fileNames = new Set(promptTextNames.map(fileOf));

/** Without the line ends at its end, but with its spaces, which separators need. */
function asWritten(name: PromptTextName, text: string): string {
  const ended = text.replace(/[\r\n]+$/, "");
  return isOneLine(name) ? ended.replace(/\s+/g, " ").trim() : ended;
}
