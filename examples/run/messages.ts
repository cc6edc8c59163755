/** What is remembered in a turn. */
export function factOf(turn: number): string {
  return `Fact ${turn} is known.`;
}

export function isRemembered(turn: number): boolean {
  return turn % 10 === 3;
}

export function isDelegated(turn: number): boolean {
  return turn % 10 === 6;
}

/** What the files hold that the agent finds. */
export function pageOf(turn: number): string {
  return `Page ${turn}. ${"What was said about it is written here. ".repeat(40)}`;
}

/** What the user says in a turn: each line spells out the calls that the stand-in's model then makes. */
export function messageOf(turn: number): string {
  const file = JSON.stringify({ path: `pages/${turn % 10}.txt` });
  if (turn % 10 === 0) {
    const write = JSON.stringify({ path: "log.txt", text: `Turn ${turn}.` });
    return `(${turn}) Please write_file ${write}, then read_file {"path": "log.txt"}`;
  }
  if (isRemembered(turn))
    return `(${turn}) Please memory_append ${JSON.stringify({ label: "notes", content: factOf(turn) })}`;
  if (isDelegated(turn)) return `(${turn}) Please delegate ${JSON.stringify({ task: `read_file ${file}` })}`;
  if (turn % 10 === 8) return `(${turn}) Please read_file ${file} and read_file {"path": "../outside"}`;
  if (turn % 5 === 4) return `(${turn}) Thank you.`;
  return `(${turn}) Please read_file ${file}`;
}
