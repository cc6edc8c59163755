import { AssemblyServiceService } from "../../../src/contract/gen/quire/v1/assembly_service.js";
import * as ledger from "../../../src/contract/gen/quire/v1/ledger_service.js";
import { MessageRole } from "../../../src/contract/gen/quire/v1/message.js";
import { text } from "../../assembly-conversation.js";
import { prose, seeded } from "../../measure.js";
import type { Attack } from "../attack.js";
import { contextOf, turnOf, userTurn } from "../target.js";

const { LedgerServiceService: methods } = ledger;

/** Text of which every word is a line, for the embedded summarizer. */
export const oneWordLines: Attack = {
  async prepare(target) {
    const labels = await target.sessions(3);
    const words = Array.from({ length: 100_000 }, (_, at) => `word${at}`).join("\n");
    for (const session of labels) {
      let parentTurnId = await target.record(userTurn(session, words));
      for (const said of ["And then?", "And now?"])
        parentTurnId = await target.record({ ...userTurn(session, said), parentTurnId });
    }
    const compact = (session: string) =>
      target.caller.call(methods.compact, ledger.CompactRequest.create({ session, keepTurns: 1 }));
    return () => Promise.all(labels.map(compact));
  },
};

/** A turn of 20 MB, and a context that has room for next to nothing of it. */
export const hugeTurn: Attack = {
  async prepare(target) {
    await target.putAgent();
    const [session] = await target.sessions(1);
    const parts = Array.from({ length: 5 }, (_, at) => text(prose(seeded(at), 4_000_000)));
    const turn = turnOf(session!, [{ role: MessageRole.USER, parts }]);
    return async () => {
      const answer = await target.caller.call(methods.recordTurn, turn);
      const parentTurnId = answer?.headTurnId ?? "";
      await target.caller.call(methods.recordTurn, { ...userTurn(session!, "And then?"), parentTurnId });
      const context = contextOf(session!, { settings: { keepTurns: 1 } }, 2_000);
      await target.caller.call(AssemblyServiceService.buildContext, context);
    };
  },
};
