import type { BudgetBound, TokenBudget } from "../../contract/gen/quire/v1/assembly.js";
import type { Style } from "../terminal/style.js";
import { type Lines, labelWidth, number, word } from "./lines.js";

const laneStyles: Readonly<Record<string, Style>> = {
  system: "blue",
  history: "green",
  memory: "magenta",
  tools: "yellow",
  buffer: "cyan",
};
const nameWidth = 9;

/** What lowers a budget below what the window leaves. */
const boundTexts: Partial<Record<BudgetBound, string>> = {
  BUDGET_BOUND_INPUT_LIMIT: "the model takes no more as input",
  BUDGET_BOUND_INTELLIGENCE_LEVEL: "by the capsule's intelligence_level",
  BUDGET_BOUND_REQUEST: "by the request's max_context_tokens",
  BUDGET_BOUND_SESSION: "by the session's max_context_tokens",
  BUDGET_BOUND_CAPSULE: "by the capsule's max_context_tokens",
};

/** The budget lane by lane. All bars have one scale: the whole width is what a context may use. */
export function printBudget(lines: Lines, budget: TokenBudget): void {
  const { available, modelLimit, reserveResponse, reserveTools, reportedLimit } = budget;
  const kept = `${number(reserveResponse)} for the answer and ${number(reserveTools)} for tool results`;
  const said = reportedLimit === modelLimit ? ", as its provider said," : "";
  const window = `a window of ${number(modelLimit)}${said} less ${kept}`;
  const by = boundTexts[budget.availableBy];
  lines.entry("budget", `${number(available)} tokens may be used: ${by ? `${by}, of ` : ""}${window}`);
  const total = budget.used?.total ?? 0;
  const usedWidth = number(Math.max(total, budget.remaining)).length;
  const ofWidth = number(available).length;
  const barWidth = lines.width - labelWidth - nameWidth - usedWidth - ofWidth - "   /   100 %".length;
  const cells = (tokens: number) => (available > 0 ? Math.min(1, tokens / available) * barWidth : 0);
  const row = (name: string, style: Style, used: number, of: number, solid: string, light: string) => {
    const bar = lines.paint(style, solid) + lines.paint("dim", light);
    const space = " ".repeat(Math.max(0, barWidth - solid.length - light.length));
    const amount = `${number(used).padStart(usedWidth)} / ${number(of).padStart(ofWidth)}`;
    lines.below(`${name.padEnd(nameWidth)}${bar}${space}  ${amount}  ${percent(used, of).padStart(5)}`);
  };
  for (const { lane, used, planned } of budget.lanes) {
    const name = word(lane, "BUDGET_LANE_");
    const solid = solidBar(cells(used));
    const unused = "░".repeat(Math.max(0, Math.round(cells(planned)) - solid.length));
    row(name, laneStyles[name] ?? "bold", used, planned, solid, unused);
  }
  const all = solidBar(cells(total));
  row("all", "bold", total, available, all, "");
  const free = " ".repeat(all.length) + "·".repeat(Math.max(0, barWidth - all.length));
  row("free", "dim", budget.remaining, available, "", budget.remaining > 0 ? free : "");
  lines.below(lines.paint("dim", `█ used, ░ planned and not used; ${countText(budget)}`));
}

const eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** A bar of so many cells, to an eighth of a cell. What is not nothing can be seen. */
export function solidBar(cells: number): string {
  const bar = "█".repeat(Math.floor(cells)) + eighths[Math.floor((cells % 1) * 8)]!;
  return bar || (cells > 0 ? "▏" : "");
}

export function percent(part: number, whole: number): string {
  return `${whole > 0 ? Math.round((part / whole) * 100) : 0} %`;
}

function countText({ exact, ratio, margin }: TokenBudget): string {
  if (exact) return "tokens are the model's own";
  return `tokens are o200k counts × ${ratio}, ± ${Math.round(margin * 100)} %`;
}

/** What each conceptual layer uses, in one line. */
export function layersText({ layers }: TokenBudget): string {
  return layers.map(({ layer, used }) => `${word(layer, "CONCEPTUAL_LAYER_")} ${number(used)}`).join(", ");
}
