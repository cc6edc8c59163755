import * as ledger from "../../../src/contract/gen/quire/v1/ledger_service.js";
import type { Attack } from "../attack.js";
import { someAtOnce, userTurn } from "../target.js";

const { LedgerServiceService: methods } = ledger;
const numbers = (count: number) => Array.from({ length: count }, (_, at) => at);

/** One session with more names than anybody needs. */
export const manyAliases: Attack = {
  async prepare(target) {
    const [session] = await target.sessions(1);
    const add = (at: number) => {
      const request = ledger.AliasSessionRequest.create({ alias: `alias ${at}`, session: session! });
      return target.caller.call(methods.aliasSession, request);
    };
    return (signal) => someAtOnce(numbers(1_350), 4, add, signal);
  },
};

/** One turn at which thousands of sessions begin. */
export const manyForks: Attack = {
  async prepare(target) {
    const [session] = await target.sessions(1);
    await target.record(userTurn(session!, "Hello."));
    const fork = (at: number) =>
      target.caller.call(
        methods.forkSession,
        ledger.ForkSessionRequest.fromPartial({ session: session!, label: `fork ${at}` }),
      );
    return (signal) => someAtOnce(numbers(3_000), 8, fork, signal);
  },
};
