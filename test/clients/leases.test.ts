import { LeasedTurn, type Quire, QuireError, text } from "quire-client";
import { describe, expect, test } from "vitest";
import { gate } from "../support/gate.js";
import { handTimers } from "../support/hand-timers.js";
import { servedQuire } from "./support.js";

const said = (words: string) => [{ role: "MESSAGE_ROLE_USER" as const, parts: [text(words)] }];

/** A leased turn whose timers run out by hand, and what came of each renewal; each waits for `before`. */
async function leased(before: () => Promise<void> = async () => {}) {
  const { quire } = await servedQuire();
  await quire.ledger.createSession({ label: "s", defaults: { capsule: "atlas" } });
  const timers = handTimers();
  const renewals: { readonly expireMs?: number; readonly reason?: string }[] = [];
  const ledger: Quire["ledger"] = {
    ...quire.ledger,
    async renewLease(request, options) {
      await before();
      try {
        const renewed = await quire.ledger.renewLease(request, options);
        renewals.push({ expireMs: renewed.lease!.expireTime!.getTime() });
        return renewed;
      } catch (error) {
        renewals.push({ reason: QuireError.from(error).reason });
        throw error;
      }
    },
  };
  const lease = { holder: "me", seconds: 30 };
  const turn = await LeasedTurn.begin({ ledger }, { session: "s", lease }, { timers });
  return { quire, turn, timers, renewals };
}

describe("leases of the TypeScript client", () => {
  test("a lease is renewed at a third of its time, again and again, and no more when the turn has ended", async () => {
    const { quire, turn, timers, renewals } = await leased();
    for (let renewed = 0; renewed < 3; renewed++) {
      await timers.set(1, 10_000);
      timers.runOutNext(10_000);
      await timers.set(1, 10_000);
    }
    expect(renewals).toHaveLength(3);
    const times = renewals.map(({ expireMs }) => expireMs!);
    expect([...times].sort((a, b) => a - b)).toEqual(times);
    const busy = await quire.ledger.beginTurn({ session: "s", lease: {} }).catch((error) => error);
    expect(busy).toMatchObject({ reason: "SESSION_BUSY", metadata: { holder: "me", turn_id: turn.id } });
    await turn.append({ messages: said("Hello.") });
    await turn.complete();
    expect(() => timers.runOutNext()).toThrow("no timer is set");
    expect(turn.signal.aborted).toBe(false);
  });

  test("a turn that lost its session learns it from the renewal, stops renewing and aborts its signal", async () => {
    const { quire, turn, timers, renewals } = await leased();
    await turn.append({ messages: said("Hello.") });
    const taken = await LeasedTurn.begin(quire, { session: "s", lease: { onBusy: "ON_BUSY_INTERRUPT" } });
    const aborted = new Promise((resolve) => turn.signal.addEventListener("abort", resolve));
    timers.runOutNext();
    await aborted;
    expect(turn.signal.reason).toMatchObject({ reason: "INTERRUPTED" });
    expect(renewals).toEqual([{ reason: "INTERRUPTED" }]);
    expect(() => timers.runOutNext()).toThrow("no timer is set");
    await taken.fail("done");
  });

  test("a renewal that fails for another reason is tried again; one that comes back after the end is not a loss", async () => {
    let before: () => Promise<void> = async () => {
      throw new QuireError("nobody is there", { code: "UNAVAILABLE" });
    };
    const { turn, timers, renewals } = await leased(() => before());
    timers.runOutNext();
    await timers.set(1);
    expect(turn.signal.aborted).toBe(false);

    const ended = gate();
    const begun = gate();
    before = () => {
      begun.open();
      return ended.passed;
    };
    timers.runOutNext();
    await begun.passed;
    await turn.append({ messages: said("Hello.") });
    await turn.complete();
    ended.open();
    await expect.poll(() => renewals).toEqual([{ reason: "TURN_NOT_OPEN" }]);
    expect(turn.signal.aborted).toBe(false);
    expect(() => timers.runOutNext()).toThrow("no timer is set");
  });
});
