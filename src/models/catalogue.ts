import { z } from "zod";
import {
  entryOver,
  type GivenEntry,
  givenEntry,
  type ModelEntry,
  type ModelFact,
  modelFacts,
} from "./model-entry.js";
import { modelNames } from "./model-names.js";

export type { CacheRules, ModelEntry } from "./model-entry.js";

/** Records leave this one key out without a word. */
const withoutProto = z.unknown().refine((models) => !Object.hasOwn(Object(models), "__proto__"), {
  error: "a model cannot be called __proto__",
});

const catalogueFile = z.strictObject({
  fallback: givenEntry.optional(),
  models: withoutProto.pipe(z.record(z.string(), givenEntry).default({})),
  /** Each says for which names it stands: `*` is anything, `[0-9]` one of these characters. */
  families: z.array(givenEntry.extend({ match: z.array(z.string().min(1).max(256)).min(1) })).default([]),
});

/** Models that are alike, by how their names look. */
export interface ModelFamily {
  /** The first of its patterns, by which it is called. */
  readonly name: string;
  readonly entry: ModelEntry;
  readonly covers: (name: string) => boolean;
}

/** What is known of models: data, which an operator can extend. */
export interface Catalogue {
  readonly models: ReadonlyMap<string, ModelEntry>;
  /** The first that covers a name is its family. */
  readonly families: readonly ModelFamily[];
  readonly fallback: ModelEntry;
}

export function parseCatalogue(json: string): Catalogue {
  const file = catalogueFile.parse(JSON.parse(json));
  if (!file.fallback) throw new Error("the model catalogue has no fallback");
  return catalogueOf(file, [], [], entryOver(undefined, file.fallback));
}

/** The catalogue with an operator's own entries before it. */
export function extendCatalogue(base: Catalogue, json: string): Catalogue {
  const file = catalogueFile.parse(JSON.parse(json));
  const fallback = file.fallback ? entryOver(base.fallback, file.fallback) : base.fallback;
  return catalogueOf(file, base.families, base.models, fallback);
}

function catalogueOf(
  file: z.infer<typeof catalogueFile>,
  furtherFamilies: readonly ModelFamily[],
  furtherModels: Iterable<readonly [string, ModelEntry]>,
  fallback: ModelEntry,
): Catalogue {
  const families = [...file.families.map(familyOf), ...furtherFamilies];
  const own = Object.entries(file.models).map(
    ([name, given]) => [name, named(`models.${name}`, () => over(families, name, given))] as const,
  );
  return { models: new Map([...furtherModels, ...own]), families, fallback };
}

function familyOf({ match, ...given }: GivenEntry & { match: readonly string[] }): ModelFamily {
  const [name] = match as readonly [string];
  const patterns = match.map((glob) => new RegExp(`^${patternOf(glob)}$`, "u"));
  return {
    name,
    entry: named(`families ${name}`, () => entryOver(undefined, given)),
    covers: (model) => patterns.some((pattern) => pattern.test(model)),
  };
}

function patternOf(glob: string): string {
  const pieces = glob.split(/(\*|\[[0-9a-z-]+\])/);
  const plain = (piece: string) => piece.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  return pieces.map((piece, index) => (index % 2 === 0 ? plain(piece) : piece.replace("*", ".*"))).join("");
}

/** Says where in the file an entry lacks something. */
function named<Made>(where: string, make: () => Made): Made {
  try {
    return make();
  } catch (error) {
    throw new Error(`${where}: ${error instanceof z.ZodError ? z.prettifyError(error) : String(error)}`);
  }
}

function over(families: readonly ModelFamily[], name: string, given: GivenEntry): ModelEntry {
  return entryOver(families.find(({ covers }) => covers(name))?.entry, given);
}

export interface FoundModel {
  readonly entry: ModelEntry;
  /** What it is called in the catalogue, or else without what dates and routes add to a name. */
  readonly name: string;
  /** Whether the catalogue has the model, or a family of it. */
  readonly known: boolean;
  /** The family that covers it, where the catalogue does not have the model itself; empty otherwise. */
  readonly family: string;
  /** What is only assumed: of a model that its family stands for, everything. */
  readonly assumed: readonly ModelFact[];
}

/** So many names are remembered: callers may think up any. */
const maxRemembered = 1_000;
const remembered = new WeakMap<Catalogue, Map<string, FoundModel>>();

/** A model by its name, however providers, clouds and routers write it; then its family; then the fallback. */
export function findModel(catalogue: Catalogue, model: string): FoundModel {
  let known = remembered.get(catalogue);
  if (!known || known.size >= maxRemembered) {
    known = new Map();
    remembered.set(catalogue, known);
  }
  let found = known.get(model);
  if (!found) {
    found = lookUp(catalogue, model);
    known.set(model, found);
  }
  return found;
}

function lookUp(catalogue: Catalogue, model: string): FoundModel {
  const { candidates, plain } = modelNames(model);
  for (const name of candidates) {
    const entry = catalogue.models.get(name);
    if (entry) return { entry, name, known: true, family: "", assumed: entry.assumed };
  }
  const family = catalogue.families.find(({ covers }) => covers(plain));
  const entry = family?.entry ?? catalogue.fallback;
  return { entry, name: plain, known: !!family, family: family?.name ?? "", assumed: modelFacts };
}
