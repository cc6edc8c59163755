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

const peers: Readonly<Record<string, NeededPeer>> = {
  "window cut": windowCut,
  "LangChain trimMessages": langchain,
  "pi's compaction": piCompaction,
};
type Shares = Record<string, { needed: number; said: number }>;

/**
 * Grows conversations request by request, and looks at each request what the next call of the model needs: names in its arguments that were
 * said before. Counted are requests whose whole thread no longer fits. `--only=` takes a kind of session, `--budgets=` a list; `--misses` prints
 * each name that is not in the context, and what became of the place where it was said last.
 */
export async function run(): Promise<Figure[]> {
  const only = option("only") ?? "";
  const { sessions, missing } = readSessions();
  if (missing.length > 0)
    progress(
      `needed: skipped ${missing.join(", ")}, not in ${evalDataFolder}; QUIRE_EVAL_DATA names the folder`,
    );
  const figures: Figure[] = [];
  for (const kind of [...sessions, generatedSessions()])
    for (const budget of kind.kind.includes(only) ? budgets : [])
      figures.push(...(await neededAt(kind, budget)));
  return figures;
}

async function neededAt(sessions: Sessions, budget: number): Promise<Figure[]> {
  const shares: Shares = { ours: { needed: 0, said: 0 } };
  for (const name of Object.keys(peers)) shares[name] = { needed: 0, said: 0 };
  let requests = 0;
  let refused = 0;
  await withQuire(async (quire) => {
    for (const [at, thread] of sessions.threads.entries()) {
      const said = new Set<string>();
      let heard = 0;
      for await (const request of grow(quire, `thread-${at}`, thread, budget)) {
        for (; heard < request.before.length; heard++)
          for (const name of namesIn(read(request.before[heard]!).text)) said.add(name);
        if (request.sent.length === 0) refused++;
        requests += (await measure(request, said, budget, shares)) ? 1 : 0;
      }
    }
  });
  if (requests === 0) return [];
  const share = (name: string) => shares[name]!.said / Math.max(1, shares[name]!.needed);
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
  { before, sent, tokens, answer }: GrownRequest,
  said: ReadonlySet<string>,
  budget: number,
  shares: Shares,
): Promise<boolean> {
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
    for (const name of needed) if (!says(ours, name)) progress(JSON.stringify(missOf(name, before, sent)));
  for (const [name, choose] of Object.entries(peers)) note(name, await choose(before, tokens));
  return true;
}

function option(name: string): string | undefined {
  return process.argv.find((arg) => arg.startsWith(`--${name}=`))?.slice(name.length + 3);
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
