import type { CurrentMessage, SystemLayer, ToolsLayer } from "../../contract/gen/quire/v1/assembly.js";
import type {
  AssembleResponse,
  AssemblyCompleted,
  AssemblyResolved,
  HistoryBatch,
} from "../../contract/gen/quire/v1/assembly_service.js";
import type { SourceReport } from "../../contract/gen/quire/v1/source.js";
import { floorText } from "../../domain/compaction.js";
import { messageText } from "../terminal/message-text.js";
import { counted, oneLine, printable } from "../terminal/printable.js";
import type { Terminal } from "../terminal/terminal.js";
import { printWarnings } from "../terminal/warnings.js";
import { BodyFold } from "./body-fold.js";
import { printBody } from "./body-text.js";
import { layersText, printBudget } from "./budget-text.js";
import { printCachePlan, printPrefix } from "./cache-text.js";
import { printCompactionEvent } from "./compaction-text.js";
import { printElisions } from "./elision-text.js";
import { contentText, historyText, modelText } from "./layer-text.js";
import { createLines, type Lines, labelWidth, number, word } from "./lines.js";
import { sourceText } from "./source-text.js";

export const shownLayers = ["system", "history", "current", "tools"] as const;
export type ShownLayer = (typeof shownLayers)[number];

const unchanged = "unchanged: not sent again";

/** Prints the events of an assembly as they come; with the content of those layers that are to be shown. */
export class LayerPrinter {
  private readonly lines: Lines;
  private readonly body = new BodyFold();
  private readonly show: ReadonlySet<ShownLayer>;
  private readonly roles = new Map<string, number>();
  private isHistoryOpen = false;
  private isAfterSource = false;

  constructor(
    private readonly terminal: Terminal,
    show: readonly ShownLayer[] = [],
  ) {
    this.lines = createLines(terminal);
    this.show = new Set(show);
  }

  print({ event }: AssembleResponse): void {
    if (event?.$case !== "history") this.endHistory();
    switch (event?.$case) {
      case "resolved":
        this.resolved(event.value);
        break;
      case "tools":
        this.tools(event.value);
        break;
      case "system":
        this.system(event.value);
        break;
      case "compaction":
        printCompactionEvent(this.lines, event.value);
        break;
      case "history":
        this.history(event.value);
        break;
      case "source":
        this.source(event.value);
        break;
      case "currentMessage":
        this.current(event.value);
        break;
      case "rendered": {
        const body = this.body.add(event.value);
        if (body) printBody(this.lines, body);
        break;
      }
      case "completed":
        this.completed(event.value);
        break;
    }
  }

  private resolved(resolved: AssemblyResolved): void {
    const { sessionLabel, parentTurnId, capsule, capsuleVersion, role } = resolved;
    this.lines.entry("resolved", printable(`session ${sessionLabel}`));
    this.lines.below(
      parentTurnId ? `head ${parentTurnId}` : "no turn yet",
      printable(`capsule ${capsule}, version ${capsuleVersion}, as ${word(role, "AGENT_ROLE_")}`),
      printable(modelText(resolved)),
    );
  }

  private tools({ tools, tokens, reused, toolset }: ToolsLayer): void {
    const origin = toolset ? ` of ${printable(toolset)}` : "";
    const what = reused ? unchanged : `${counted(tools.length, "tool")}${origin}`;
    this.lines.entry("tools", `${counted(tokens, "token")}, ${what}`);
    const nameWidth = Math.max(0, ...tools.map(({ name }) => name.length)) + 2;
    for (const { name, description, inputSchemaJson } of tools) {
      const room = this.lines.width - labelWidth - nameWidth;
      const isShown = this.show.has("tools");
      const text = isShown ? printable(description) : oneLine(description, Math.max(20, room));
      this.lines.below(`${printable(name).padEnd(nameWidth)}${this.lines.paint("dim", text)}`.trimEnd());
      if (isShown && inputSchemaJson) this.lines.below(`  ${printable(inputSchemaJson)}`);
    }
  }

  private system({ text, sections, tokens, reused, leadMessages }: SystemLayer): void {
    const size = `${counted(tokens, "token")}, ${counted(sections.length, "section")}`;
    this.lines.entry("system", reused ? `${size}, ${unchanged}` : size);
    if (reused) return;
    const nameWidth = Math.max(0, ...sections.map(({ name }) => name.length)) + 2;
    const tokenWidth = Math.max(0, ...sections.map((section) => number(section.tokens).length));
    for (const { name, layer, tokens: cost, truncated } of sections) {
      const origin = word(layer, "CONCEPTUAL_LAYER_").padEnd(11);
      const cut = truncated ? this.lines.paint("yellow", "  truncated") : "";
      this.lines.below(
        `${name.padEnd(nameWidth)}${this.lines.paint("dim", origin)}${number(cost).padStart(tokenWidth)}${cut}`,
      );
    }
    if (leadMessages.length > 0)
      this.lines.below(`${counted(leadMessages.length, "message")} before history`);
    if (!this.show.has("system")) return;
    this.content(text);
    for (const message of leadMessages) this.content(messageText(message));
  }

  private history({ layer, messages }: HistoryBatch): void {
    if (layer) this.lines.entry("history", historyText(layer));
    if (layer) printElisions(this.lines, layer);
    if (layer?.reused) this.lines.below(`only what follows turn ${layer.afterTurnId} is sent`);
    this.isHistoryOpen = true;
    for (const message of messages) {
      const role = word(message.role, "MESSAGE_ROLE_");
      this.roles.set(role, (this.roles.get(role) ?? 0) + 1);
      if (this.show.has("history")) this.content(messageText(message));
    }
  }

  private source(report: SourceReport): void {
    const text = sourceText(this.lines, report);
    if (this.isAfterSource) this.lines.below(text);
    else this.lines.entry("sources", text);
    this.isAfterSource = true;
  }

  /** How many messages there were is known when the last batch has come. */
  private endHistory(): void {
    if (!this.isHistoryOpen) return;
    this.isHistoryOpen = false;
    const all = [...this.roles.values()].reduce((sum, count) => sum + count, 0);
    const each = [...this.roles].map(([role, count]) => `${count} ${role}`).join(", ");
    this.lines.below(`${counted(all, "message")} sent${all > 0 ? `: ${each}` : ""}`);
  }

  private current({ message, tokens, truncated }: CurrentMessage): void {
    const size = counted(tokens, "token");
    this.lines.entry("current", truncated ? `${size}, truncated` : message ? size : "none");
    if (!message) return;
    const preview = oneLine(contentText(message), this.lines.width - labelWidth);
    if (this.show.has("current")) this.content(messageText(message));
    else this.lines.below(this.lines.paint("dim", preview));
  }

  private completed({ budget, warnings, floors, assemblyId, cachePlan, prefix }: AssemblyCompleted): void {
    const lines = this.lines;
    const whole = counted(budget?.used?.total ?? 0, "token");
    lines.entry("completed", `${whole} in all, ${number(budget?.remaining ?? 0)} free`);
    lines.blank();
    if (budget) printBudget(lines, budget);
    if (budget) lines.entry("layers", layersText(budget));
    if (cachePlan) printCachePlan(lines, cachePlan);
    if (prefix) printPrefix(lines, prefix);
    for (const floor of floors) lines.entry("gave way", printable(floorText(floor)), "yellow");
    lines.entry("receipt", assemblyId ?? "none: this was a dry run");
    printWarnings(this.terminal, warnings);
  }

  private content(text: string): void {
    this.lines.below(...printable(text).split("\n"));
  }
}
