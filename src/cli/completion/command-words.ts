import type { Command } from "commander";

export interface Word {
  readonly text: string;
  readonly description: string;
}

/** What may follow a command, and the commands below it. */
export interface CommandWords {
  /** `quire memory show` */
  readonly path: string;
  readonly words: readonly Word[];
}

/** Every command that there is, with what may come after it: commands, choices of arguments, flags. */
export function commandWords(command: Command, before = ""): readonly CommandWords[] {
  const path = `${before}${command.name()}`;
  const words = [
    ...command.commands.map((one) => ({ text: one.name(), description: one.description() })),
    ...command.registeredArguments.flatMap(({ argChoices, description }) =>
      (argChoices ?? []).map((text) => ({ text, description })),
    ),
    ...command.options
      .filter(({ long, hidden }) => long && !hidden)
      .map(({ long, description }) => ({ text: long!, description })),
    { text: "--help", description: "display help" },
  ];
  return [{ path, words }, ...command.commands.flatMap((one) => commandWords(one, `${path} `))];
}
