import { type FetchedBlock, FetchRequest } from "../../contract/gen/quire/v1/context_source_service.js";
import { sha256 } from "../../domain/hash.js";
import { attribute, oneLine, quoted } from "../quoted.js";
import type { SourceRules } from "../rules.js";
import type { Source, SourceBlock, SourceView } from "../source.js";
import type { PlugIn } from "./plug-in.js";

const maxTitleChars = 256;
const maxEntities = 64;
const maxEntityChars = 256;
/** The signal ends a call that is late, and says so; a call that outlives even that ends by itself. */
const graceMs = 500;
/** So many blocks are looked at, whatever the rules allow. */
const maxBlocks = 256;

/** A source that another process answers for. What it says is data: it stands in a frame that names it, which nothing in it can end. */
export function plugInSource(name: string, plugIn: PlugIn): Source {
  return {
    name,
    cacheKey: (view) => {
      const { sessionId, agent, role, eventText, identity, platform, permissions, model } = view;
      const asked = [sessionId, agent, role, eventText, identity, platform, permissions, model];
      return sha256(Buffer.from(JSON.stringify(asked))).toString("base64");
    },
    async fetch(view, rules, { signal }) {
      const { blocks } = await plugIn.fetch(requestOf(name, view, rules), signal, rules.deadlineMs + graceMs);
      const titles = new Set<string>();
      return { blocks: blocks.slice(0, maxBlocks).flatMap((block) => blockOf(name, block, titles)) };
    },
  };
}

function requestOf(source: string, view: SourceView, rules: SourceRules): FetchRequest {
  return FetchRequest.create({
    source,
    session: view.sessionLabel,
    agent: view.agent,
    role: view.role,
    eventText: view.eventText,
    identity: view.identity,
    platform: view.platform,
    permissions: [...view.permissions],
    budgetTokens: Math.min(rules.maxTokens, Math.floor(view.budgetTokens)),
    maxBlocks: Math.min(rules.maxItems, maxBlocks),
    model: view.model,
    now: new Date(view.nowMs),
  });
}

function blockOf(source: string, given: FetchedBlock, titles: Set<string>): SourceBlock[] {
  const { content, entities, priority, expireTime } = given;
  const text = quoted(content).trim();
  if (text === "") return [];
  const title = unused(cutAt(oneLine(given.title), maxTitleChars), titles);
  const about = entities.slice(0, maxEntities).map((entity) => cutAt(oneLine(entity), maxEntityChars));
  const named = title === "" ? "" : ` title="${attribute(title)}"`;
  return [
    {
      title,
      content: text,
      frame: { open: `<source:${source}${named}>\n`, close: `\n</source:${source}>` },
      entities: about,
      priority: priority === undefined ? undefined : Math.min(priority, 1_000),
      expiresMs: expireTime?.getTime(),
    },
  ];
}

function cutAt(text: string, chars: number): string {
  return text.length <= chars ? text : [...text.slice(0, chars)].slice(0, -1).join("");
}

/** A second block of the same title is told apart by its number. */
function unused(title: string, titles: Set<string>): string {
  let name = title;
  for (let count = 2; titles.has(name); count++) name = `${title} (${count})`;
  titles.add(name);
  return name;
}
