import { Argument, Command } from "commander";
import { commandWords } from "../completion/command-words.js";
import { completionScript, type Shell, shells } from "../completion/scripts.js";
import type { Terminal } from "../terminal/terminal.js";
import { examples } from "./options.js";

export function completionCommand(terminal: Terminal): Command {
  const command = new Command("completion")
    .description("print a script that completes quire's commands and flags at a Tab")
    .addArgument(new Argument("<shell>", "which shell reads it").choices([...shells]))
    .addHelpText(
      "after",
      examples(
        'eval "$(quire completion bash)"',
        'eval "$(quire completion zsh)"',
        "quire completion fish > ~/.config/fish/completions/quire.fish",
      ),
    );
  return command.action((shell: Shell) => {
    terminal.stdout.write(completionScript(shell, commandWords(command.parent!)));
  });
}
