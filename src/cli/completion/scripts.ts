import type { CommandWords } from "./command-words.js";

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/** The script that a shell reads to complete `quire`. All that there is to complete is in it: nothing is started at a Tab. */
export function completionScript(shell: Shell, commands: readonly CommandWords[]): string {
  return scripts[shell](commands);
}

const scripts: Readonly<Record<Shell, (commands: readonly CommandWords[]) => string>> = {
  bash: (commands) => `# quire: completion for bash. In ~/.bashrc: eval "$(quire completion bash)"
_quire() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" at=quire i words=""
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at \${COMP_WORDS[i]}" in
      ${paths(commands)}) at="$at \${COMP_WORDS[i]}" ;;
    esac
  done
  case "$at" in
${commands.map(({ path, words }) => `    ${quoted(path)}) words=${quoted(words.map(({ text }) => text).join(" "))} ;;`).join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o bashdefault -o default -F _quire quire
`,
  zsh: (commands) => `#compdef quire
# quire: completion for zsh. In ~/.zshrc, after compinit: eval "$(quire completion zsh)"
_quire() {
  local at=quire word
  local -a entries
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at $word" in
      ${paths(commands)}) at="$at $word" ;;
    esac
  done
  case "$at" in
${commands.map(({ path, words }) => `    ${quoted(path)}) entries=(${words.map(({ text, description }) => quoted(`${text}:${oneLine(description)}`)).join(" ")}) ;;`).join("\n")}
  esac
  _describe -o quire entries || _files
}
compdef _quire quire
`,
  fish: (
    commands,
  ) => `# quire: completion for fish. quire completion fish > ~/.config/fish/completions/quire.fish
function __quire_at
  set -l at quire
  for word in (commandline -opc)[2..]
    switch "$at $word"
      case ${commands
        .slice(1)
        .map(({ path }) => quoted(path))
        .join(" ")}
        set at "$at $word"
    end
  end
  test "$at" = "$argv[1]"
end
${commands.flatMap(({ path, words }) => words.map(({ text, description }) => `complete -c quire -n ${quoted(`__quire_at ${quoted(path)}`, '"')} -a ${quoted(text)} -d ${quoted(oneLine(description))}`)).join("\n")}
`,
};

function paths(commands: readonly CommandWords[]): string {
  return commands
    .slice(1)
    .map(({ path }) => quoted(path))
    .join("|");
}

/** Within single quotes no shell looks at anything; fish takes `\'` for one of them, the others close and open again. */
function quoted(text: string, mark = "'"): string {
  return mark + (mark === "'" ? text.replaceAll("'", "’") : text) + mark;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").replaceAll("\\", "/");
}
