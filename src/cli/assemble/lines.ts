import { lineWidth, type Paint, painter, type Style } from "../terminal/style.js";
import { printLine, type Terminal } from "../terminal/terminal.js";

export const labelWidth = 11;

/** Prints entries: a label on the left, what belongs to it on the right, within the terminal's width. */
export interface Lines {
  readonly width: number;
  readonly paint: Paint;
  entry(label: string, text: string, style?: Style): void;
  /** Lines that belong to the entry above, as they are. */
  below(...lines: readonly string[]): void;
  /** Text that begins at the left edge. */
  plain(text: string): void;
  /** What there is to say about what follows. */
  note(text: string): void;
  blank(): void;
}

export function createLines(terminal: Terminal): Lines {
  const width = lineWidth(terminal);
  const paint = painter(terminal);
  const indent = " ".repeat(labelWidth);
  return {
    width,
    paint,
    entry(label, text, style = "bold") {
      const [first = "", ...rest] = wrap(text, width - labelWidth);
      printLine(
        terminal,
        `${paint(style, label)}${" ".repeat(Math.max(1, labelWidth - label.length))}${first}`,
      );
      for (const line of rest) printLine(terminal, indent + line);
    },
    below(...lines) {
      for (const line of lines) printLine(terminal, line === "" ? "" : indent + line);
    },
    plain: (text) => printLine(terminal, text),
    note(text) {
      for (const line of wrap(text, width)) printLine(terminal, paint("dim", line));
    },
    blank: () => printLine(terminal, ""),
  };
}

/** Breaks a text at spaces. A word that is wider than a line stays whole. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

export function number(value: number): string {
  return value.toLocaleString("en-US");
}

/** The word of an enum's value: AGENT_ROLE_WORKER is "worker". */
export function word(value: string, prefix: string): string {
  return value.replace(prefix, "").toLowerCase().replaceAll("_", " ");
}
