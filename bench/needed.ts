import { evalDataFolder } from "./eval-data.js";
import type { Figure } from "./figure.js";
import { progress } from "./measure.js";
import { generatedSessions } from "./needed-generator.js";
import { type GrownRequest, grow, withQuire } from "./needed-grow.js";
import { missOf } from "./needed-misses.js";
import { namesCalled, namesIn, says } from "./needed-names.js";
import { langchain, type NeededPeer, piCompaction, read, windowCut } from "./needed-peers.js";
import { readSessions, type Sessions } from "./needed-sessions.js";

const budgets = option("budgets")?.split(",").map(Number) ?? [4_096, 16_384, 32_768, 65_536];
const held = { budget: 32_768, share: 0.97 };
/** Where what recall adds is measured: the same sessions once more, in contexts of the same size, without it. */
const comparedAt = [16_384, 32_768];
/** However busy the machine is: this measures what is recalled, and not how fast. */
const withRecall = { sources: [{ name: "memory", deadlineMs: 60_000 }] };
const withoutRecall = { sources: [{ name: "memory", enabled: false }] };

const peers: Readonly<Record<string, NeededPeer>> = {
  "window cut": windowCut,
  "LangChain trimMessages": langchain,
  "pi's compaction": piCompaction,
};
type Shares = Record<string, { needed: number; said: number }>;

/**
 * Grows conversations request by request, and looks at each request what the next call of the model needs: names in its arguments that were
 * said before. Counted are requests whose whole thread no longer fits. `--only=` takes a kind of session, `--budgets=` a list; `--misses` prints
 * each name that is not in the context, and what became of the place where it was said last; `--recall` leaves the peers out, and shows only what
 * recall adds.
 */
export async function run(): Promise<Figure[]> {
  const only = option("only") ?? "";
  const isComparing = process.argv.includes("--recall");
  const { sessions, missing } = readSessions();
  if (missing.length > 0)
    progress(
      `needed: skipped ${missing.join(", ")}, not in ${evalDataFolder}; QUIRE_EVAL_DATA names the folder`,
    );
  const figures: Figure[] = [];
  const pairs: Pair[] = [];
  for (const kind of [...sessions, generatedSessions()])
    for (const budget of kind.kind.includes(only) ? budgets : []) {
      const grown = await growAll(kind, budget, withRecall, isComparing ? {} : peers);
      if (grown.requests === 0) continue;
      if (!isComparing) figures.push(...ofPeers(kind, budget, grown));
      if (!comparedAt.includes(budget)) continue;
      pairs.push({
        kind: kind.kind,
        budget,
        on: grown,
        off: await growAll(kind, budget, withoutRecall, {}),
      });
      figures.push(ofRecall(pairs.at(-1)!));
    }
  for (const budget of comparedAt) {
    const some = pairs.filter((pair) => pair.budget === budget);
    if (some.length > 1)
      figures.push(
        ofRecall({
          kind: "all",
          budget,
          on: together(some.map(({ on }) => on)),
          off: together(some.map(({ off }) => off)),
        }),
      );
  }
  return figures;
}

/** The same sessions in contexts of the same size, with recall and without. */
interface Pair {
  readonly kind: string;
  readonly budget: number;
  readonly on: Grown;
  readonly off: Grown;
}

interface Grown {
  readonly shares: Shares;
  readonly requests: number;
  readonly refused: number;
  /** Of all contexts that were looked at. */
  readonly tokens: number;
}

async function growAll(
  sessions: Sessions,
  budget: number,
  settings: object,
  others: Readonly<Record<string, NeededPeer>>,
): Promise<Grown> {
  const shares: Shares = { ours: { needed: 0, said: 0 } };
  for (const name of Object.keys(others)) shares[name] = { needed: 0, said: 0 };
  let requests = 0;
  let refused = 0;
  let tokens = 0;
  await withQuire(async (quire) => {
    for (const [at, thread] of sessions.threads.entries()) {
      const said = new Set<string>();
      let heard = 0;
      for await (const request of grow(quire, `thread-${at}`, thread, budget, settings)) {
        for (; heard < request.before.length; heard++)
          for (const name of namesIn(read(request.before[heard]!).text)) said.add(name);
        if (request.sent.length === 0) refused++;
        if (!(await measure(request, said, budget, shares, others))) continue;
        requests++;
        tokens += request.tokens;
      }
    }
  });
  return { shares, requests, refused, tokens };
}

function shareOf({ shares }: Grown, name: string): number {
  return shares[name]!.said / Math.max(1, shares[name]!.needed);
}

function together(some: readonly Grown[]): Grown {
  const sum = (of: (one: Grown) => number) => some.reduce((total, one) => total + of(one), 0);
  const ours = {
    needed: sum(({ shares }) => shares.ours!.needed),
    said: sum(({ shares }) => shares.ours!.said),
  };
  const requests = sum((one) => one.requests);
  return { shares: { ours }, requests, refused: sum((one) => one.refused), tokens: sum((one) => one.tokens) };
}

function ofRecall({ kind, budget, on, off }: Pair): Figure {
  const [withIt, without] = [shareOf(on, "ours") * 100, shareOf(off, "ours") * 100];
  const figure = `needed: ${kind} at ${budget / 1_024}k, what recall adds`;
  const size = ({ tokens, requests }: Grown) => Math.round(tokens / requests);
  const note = `with ${withIt.toFixed(2)} %, without ${without.toFixed(2)} %; tokens of a context ${size(on)} and ${size(off)}`;
  const value = withIt - without;
  progress(`${figure}: ${value.toFixed(2)} points; ${note}`);
  // A kind of session may have hardly an event; all together must rise.
  const held = kind === "all" ? { limit: 0, holds: value > 0 } : {};
  return { figure, value, unit: "points", ...held, note: kind === "all" ? `above; ${note}` : note };
}

function ofPeers(sessions: Sessions, budget: number, grown: Grown): Figure[] {
  const { shares, requests, refused } = grown;
  const share = (name: string) => shareOf(grown, name);
  const others = Object.keys(peers).map((name) => `${name} ${percent(share(name))}`);
  const name = `needed: ${sessions.kind} at ${budget / 1_024}k`;
  progress(
    `${name}: ${percent(share("ours"))} of ${shares.ours!.needed} in ${requests} requests, ${refused} refused; ${others.join(", ")}`,
  );
  const isHeld = budget === held.budget;
  return [
    {
      figure: name,
      value: share("ours") * 100,
      unit: "%",
      ...(isHeld ? { limit: held.share * 100, holds: share("ours") >= held.share } : {}),
      note: isHeld ? "at least" : others.join(", "),
    },
    ...Object.keys(peers).map((peer): Figure => {
      const value = share("ours") / share(peer);
      return { figure: `${name}, against ${peer}`, value, limit: 1, holds: value >= 1, note: "at least" };
    }),
  ];
}

/** Whether something is needed and does not fit any more. */
async function measure(
  request: GrownRequest,
  said: ReadonlySet<string>,
  budget: number,
  shares: Shares,
  others: Readonly<Record<string, NeededPeer>>,
): Promise<boolean> {
  const { before, sent, tokens, answer } = request;
  const needed = [...namesCalled(answer)].filter((name) => said.has(name));
  const whole = before.reduce((sum, message) => sum + read(message).tokens, 0);
  if (needed.length === 0 || whole <= budget) return false;
  const note = (name: string, context: string) => {
    shares[name]!.needed += needed.length;
    shares[name]!.said += needed.filter((one) => says(context, one)).length;
  };
  const ours = sent.map((message) => read(message).text).join("\n");
  note("ours", ours);
  if (process.argv.includes("--misses"))
    for (const name of needed) if (!says(ours, name)) progress(JSON.stringify(missOf(name, request)));
  for (const [name, choose] of Object.entries(others)) note(name, await choose(before, tokens));
  return true;
}

function option(name: string): string | undefined {
  return process.argv.find((arg) => arg.startsWith(`--${name}=`))?.slice(name.length + 3);
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
