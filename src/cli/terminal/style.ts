import { styleText } from "node:util";
import { isScreen, type Terminal } from "./terminal.js";

export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "blue" | "magenta" | "cyan";

/** Gives text a colour, for a person at a terminal; leaves it as it is for anything else. */
export type Paint = (style: Style, text: string) => string;

export function painter({ stdout }: Pick<Terminal, "stdout">): Paint {
  const isShown = isScreen({ stdout });
  return (style, text) => (isShown ? styleText(style, text, { stream: stdout }) : text);
}

const narrowest = 60;
const widest = 120;

/** How wide a line may be: that of the terminal, or 80. */
export function lineWidth({ stdout }: Pick<Terminal, "stdout">): number {
  const { columns = 80 } = stdout as Partial<NodeJS.WriteStream>;
  return Math.min(widest, Math.max(narrowest, columns));
}
