import type { Tool } from "../domain/workspace.js";

/** What a provider takes as a name or an id. */
export interface NameRule {
  readonly pattern: RegExp;
  /** One character that may not stand anywhere; all of them are replaced. */
  readonly forbidden: RegExp;
  readonly maxLength: number;
  /** Put before a name that may not begin as it does; what an empty name becomes. */
  readonly head: string;
  /** Makes a shorter one of a name that is too long, where its end matters. */
  readonly shorten?: (name: string, maxLength: number) => string;
}

export const anthropicToolName: NameRule = {
  pattern: /^[a-zA-Z0-9_-]{1,128}$/,
  forbidden: /[^a-zA-Z0-9_-]/g,
  maxLength: 128,
  head: "tool",
};

export const openaiToolName: NameRule = {
  pattern: /^[a-zA-Z0-9_-]{1,64}$/,
  forbidden: /[^a-zA-Z0-9_-]/g,
  maxLength: 64,
  head: "tool",
};

export const geminiToolName: NameRule = {
  pattern: /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/,
  forbidden: /[^a-zA-Z0-9_.-]/g,
  maxLength: 64,
  head: "tool_",
};

export const anthropicCallId: NameRule = {
  pattern: /^[a-zA-Z0-9_-]+$/,
  forbidden: /[^a-zA-Z0-9_-]/g,
  maxLength: 256,
  head: "call",
};

/** The API does not look into ids; they are kept short and printable. */
export const geminiCallId: NameRule = { ...anthropicCallId, maxLength: 256 };

/** Gives each name that is asked for one that the rule allows and that nothing else has. */
class Names {
  private readonly taken = new Set<string>();
  private readonly lastOf = new Map<string, number>();

  constructor(private readonly rule: NameRule) {}

  allows(name: string): boolean {
    return name.length <= this.rule.maxLength && this.rule.pattern.test(name);
  }

  take(name: string): string {
    const base = this.allows(name) ? name : this.rewritten(name);
    let taken = base;
    const first = this.taken.has(base) ? (this.lastOf.get(base) ?? 2) : 0;
    for (let count = first; this.taken.has(taken); count++) {
      const suffix = `_${count}`;
      taken = base.slice(0, this.rule.maxLength - suffix.length) + suffix;
      this.lastOf.set(base, count + 1);
    }
    this.taken.add(taken);
    return taken;
  }

  private rewritten(name: string): string {
    const { forbidden, maxLength, head, shorten } = this.rule;
    const short = shorten ? shorten(name, maxLength) : name;
    const clean = short.replace(forbidden, "_").slice(0, maxLength);
    return this.allows(clean) ? clean : (head + clean).slice(0, maxLength);
  }
}

/**
 * The names of tools in one body. A name that the provider allows stays; others are rewritten, by the tools in their
 * order first, so that the same tools always have the same names. Calls in history go through the same table.
 */
export class ToolNames {
  /** The tools that can be declared: the first of each name. */
  readonly declared: readonly Tool[];
  private readonly names: Names;
  private readonly byName = new Map<string, string>();

  constructor(tools: readonly Tool[], rule: NameRule) {
    this.names = new Names(rule);
    const first = new Map<string, Tool>();
    for (const tool of tools) if (!first.has(tool.name)) first.set(tool.name, tool);
    this.declared = [...first.values()];
    for (const { name } of this.declared) if (this.names.allows(name)) this.of(name);
    for (const { name } of this.declared) this.of(name);
  }

  of(name: string): string {
    const known = this.byName.get(name);
    if (known !== undefined) return known;
    const taken = this.names.take(name);
    this.byName.set(name, taken);
    return taken;
  }
}

/** Ids for the calls of one body, each used once: what `pairedCalls` asks for. */
export function callIds(rule: NameRule): (callId: string) => string {
  const names = new Names(rule);
  return (callId) => names.take(callId);
}
