import { setTimeout as sleep } from "node:timers/promises";
import {
  LedgerServiceService,
  WatchSessionRequest,
  type WatchSessionResponse,
} from "../../../src/contract/gen/quire/v1/ledger_service.js";
import type { Attack } from "../attack.js";
import { someAtOnce, userTurn } from "../target.js";

const watchers = 10_000;
const connections = 50;
const sessionCount = 200;
const openBoundMs = 6_000;
const idleMs = 2_000;

/** Streams that wait for moves which do not come; then a move for each session. */
export const idleWatchers: Attack = {
  async prepare(target) {
    const labels = await target.sessions(sessionCount);
    return async (signal) => {
      const callers = Array.from({ length: connections }, () => target.connect());
      let settled = 0;
      const onEvent = ({ event }: WatchSessionResponse) => {
        target.caller.note(event?.$case ?? "nothing");
        if (event?.$case === "watching") settled++;
      };
      const openedAt = performance.now();
      for (let at = 0; at < watchers; at++) {
        const session = labels[at % sessionCount]!;
        const request = WatchSessionRequest.create({ session });
        void callers[at % connections]!.stream(LedgerServiceService.watchSession, request, onEvent).then(
          () => settled++,
        );
        if (at % 100 === 0) await sleep(1);
      }
      while (settled < watchers && performance.now() - openedAt < openBoundMs) await sleep(50);
      await sleep(idleMs);
      await someAtOnce(
        labels,
        8,
        (session) => target.caller.call(LedgerServiceService.recordTurn, userTurn(session, "A move.")),
        signal,
      );
      for (const caller of callers) caller.close();
    };
  },
};
