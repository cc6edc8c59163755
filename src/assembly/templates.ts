import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { defaultSummaryTemplate } from "../compaction/prompt.js";
import { sha256 } from "../domain/hash.js";

/** The fixed words of a system prompt, and of the request for a summary. `{{name}}` is filled in. An operator replaces one by a file of its name. */
export interface PromptTemplates {
  readonly texts: Readonly<Record<TemplateName, string>>;
  readonly hash: Buffer;
}

const defaults = {
  worker: `# Subagent Context

You are a **worker agent** spawned for a specific task.

## Your Task
{{task}}

## Rules
1. Stay focused: do your assigned task, nothing else
2. Complete the task: your final message reports back to the manager
3. Don't initiate: no proactive actions, no side quests
4. Be ephemeral: you may be terminated after completion

## What You DON'T Do
- NO user conversations (manager's job)
- NO external messages unless explicitly tasked
- NO persistent state changes outside your task scope`,
  manager: `# Messaging

You talk with people through the messaging tools of the platform that an event came from.
Answer where you were asked. Hand long work to worker agents, and report what they found in your own words.`,
  permissions: "Permissions: {{permissions}}",
  runtime: "Runtime: host={{host}} os={{os}} arch={{arch}}",
  language: "",
  skills: "",
  memory: "",
  autonomy: "",
  summary: defaultSummaryTemplate,
} as const;

export type TemplateName = keyof typeof defaults;

const names = Object.keys(defaults) as TemplateName[];

/** The templates, with those of a folder (`worker.md`, `language.md`, ...) in place of the defaults. */
export function loadTemplates(folder: string): PromptTemplates {
  const texts = Object.fromEntries(
    names.map((name) => {
      const path = join(folder, `${name}.md`);
      return [name, folder !== "" && existsSync(path) ? readFileSync(path, "utf8").trim() : defaults[name]];
    }),
  ) as Record<TemplateName, string>;
  return { texts, hash: sha256(Buffer.from(JSON.stringify(texts))) };
}

export function fill(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{\{(\w+)\}\}/g, (whole, name: string) =>
    Object.hasOwn(values, name) ? values[name]! : whole,
  );
}
