/** What the scenarios share: seeds, medians, and runs that take turns so that a noisy machine disturbs both alike. */

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}

export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const words =
  "the quire gathers leaves folded one inside another in order they will be read while an agent calls tools and waits for answers".split(
    " ",
  );

/** Prose of about so many bytes. */
export function prose(random: () => number, bytes: number): string {
  let text = "";
  while (text.length < bytes) text += `${words[Math.floor(random() * words.length)]} `;
  return text.slice(0, bytes);
}

/** Runs each candidate in turn, round after round, and gives the median of each. */
export async function interleaved<Name extends string>(
  rounds: number,
  candidates: Readonly<Record<Name, () => Promise<number>>>,
): Promise<Record<Name, number>> {
  const names = Object.keys(candidates) as Name[];
  const samples = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>;
  for (let round = 0; round < rounds; round++) {
    for (let at = 0; at < names.length; at++) {
      const name = names[(at + round) % names.length]!;
      samples[name].push(await candidates[name]());
    }
  }
  return Object.fromEntries(names.map((name) => [name, median(samples[name])])) as Record<Name, number>;
}

export async function elapsedMs(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

export function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}

/**
 * The CPU time that this process takes for some work, all threads together. Garbage is not collected before: that throws
 * away compiled code, which would then be measured.
 */
export async function cpuMs(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
