import { fromMicroseconds, toMicroseconds } from "../../domain/clock.js";
import { sha256 } from "../../domain/hash.js";
import { type ItemContent, type SourceItem, SourceItemKind } from "../../domain/source-item.js";
import { QuireError } from "../../errors/quire-error.js";
import { readPageToken, writePageToken } from "../../storage/page-token.js";
import type { WriteKey } from "../../storage/stored-answers.js";
import type { SourceDeps } from "../deps.js";
import { decodeItem, encodeItem } from "../source-codec.js";

export interface PutItems {
  readonly agent: string;
  readonly items: readonly SourceItem[];
}

export interface PutItemsAnswer {
  readonly keys: readonly string[];
}

/** Writes what built-in sources know; what has the same key is replaced. */
export async function putItems(
  deps: SourceDeps,
  key: WriteKey<PutItemsAnswer>,
  { agent, items }: PutItems,
): Promise<PutItemsAnswer> {
  const rows = items.map((item, index) => {
    const content = item.item!;
    const itemKey = item.key || keyOf(content);
    if (itemKey.length > 256)
      throw QuireError.field(
        "INVALID_FIELD",
        `items[${index}].key`,
        "is required here: the names are too long to make one",
      );
    return {
      kind: kindOf(content),
      key: itemKey,
      wire: encodeItem({ ...item, key: itemKey }),
      expiresUs: item.expireTime ? toMicroseconds(item.expireTime.getTime()) : null,
    };
  });
  const seen = new Set<string>();
  for (const [index, { kind, key: itemKey }] of rows.entries()) {
    const place = `${kind}/${itemKey}`;
    if (seen.has(place)) throw QuireError.field("INVALID_FIELD", `items[${index}]`, "is there twice");
    seen.add(place);
  }
  return deps.store.write(key, toMicroseconds(deps.clock.now()), async (sources) => {
    await sources.putItems(agent, rows);
    return { keys: rows.map((row) => row.key) };
  });
}

const kinds: Readonly<Record<ItemContent["$case"], SourceItemKind>> = {
  entity: SourceItemKind.ENTITY,
  relation: SourceItemKind.RELATION,
  preference: SourceItemKind.PREFERENCE,
  knownFailure: SourceItemKind.KNOWN_FAILURE,
  fact: SourceItemKind.FACT,
  procedure: SourceItemKind.PROCEDURE,
  rule: SourceItemKind.RULE,
  fewShot: SourceItemKind.FEW_SHOT,
  skill: SourceItemKind.SKILL,
  mail: SourceItemKind.MAIL,
};

function kindOf({ $case }: ItemContent): SourceItemKind {
  return kinds[$case];
}

/** The same content is the same item. */
function keyOf(content: ItemContent): string {
  switch (content.$case) {
    case "entity":
    case "knownFailure":
    case "skill":
      return content.value.name;
    case "relation":
      return shortOr(`${content.value.from} ${content.value.relation} ${content.value.to}`);
    case "procedure":
      return content.value.title;
    case "preference":
    case "rule":
      return shortOr(content.value.text);
    case "fact":
      return shortOr(`${content.value.entity}: ${content.value.text}`);
    case "fewShot":
      return shortOr(content.value.user);
    case "mail":
      return shortOr(
        `${content.value.sender} ${content.value.subject} ${content.value.receiveTime?.toISOString() ?? ""}`,
      );
  }
}

function shortOr(text: string): string {
  const isPlain = text.length <= 128 && !/\p{Cc}/u.test(text);
  return isPlain ? text.trim() : sha256(Buffer.from(text)).toString("hex");
}

export interface ListItems {
  readonly agent: string;
  readonly kind: SourceItemKind;
  readonly pageSize: number;
  readonly pageToken: string;
}

export interface ItemPage {
  readonly items: readonly SourceItem[];
  readonly nextPageToken: string;
}

/** A page of what an agent's sources know, by kind and key. */
export async function listItems(
  deps: SourceDeps,
  tenantId: string,
  { agent, kind, pageSize, pageToken }: ListItems,
): Promise<ItemPage> {
  const list = `source items ${agent} ${kind}`;
  const [afterKind, afterKey] = readPageToken(list, pageToken, ["", ""]);
  const only = kind === SourceItemKind.UNSPECIFIED ? undefined : kind;
  const found = await deps.store.listItems(tenantId, agent, only, [afterKind!, afterKey!], pageSize + 1);
  const page = found.slice(0, pageSize);
  const last = page.at(-1);
  return {
    items: page.map(({ wire, updatedUs }) => ({
      ...decodeItem(wire),
      updateTime: fromMicroseconds(updatedUs),
    })),
    nextPageToken: found.length > page.length && last ? writePageToken(list, [last.kind, last.key]) : "",
  };
}

export interface Deleted {
  readonly deleted: number;
}

export async function deleteItems(
  deps: SourceDeps,
  key: WriteKey<Deleted>,
  {
    agent,
    kind,
    keys,
  }: { readonly agent: string; readonly kind: SourceItemKind; readonly keys: readonly string[] },
): Promise<Deleted> {
  return deps.store.write(key, toMicroseconds(deps.clock.now()), async (sources) => ({
    deleted: await sources.deleteItems(agent, kind, keys),
  }));
}
