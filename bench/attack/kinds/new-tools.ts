import { AssemblyServiceService } from "../../../src/contract/gen/quire/v1/assembly_service.js";
import type { Attack } from "../attack.js";
import { contextOf, someAtOnce, userTurn } from "../target.js";

const assemblies = 300;
const toolCount = 1_024;

/** As many tools as are allowed, with names that were never seen before, for each assembly. */
export const newTools: Attack = {
  async prepare(target) {
    await target.putAgent();
    const [session] = await target.sessions(1);
    await target.record(userTurn(session!, "Hello."));
    const numbers = Array.from({ length: assemblies }, (_, at) => at);
    return (signal) =>
      someAtOnce(
        numbers,
        4,
        (number) => {
          const tools = Array.from({ length: toolCount }, (_, at) => ({
            name: `tool_${number}_${at}`,
            description: `Looks for the record ${at} of the series ${number}.`,
          }));
          return target.caller.call(AssemblyServiceService.buildContext, contextOf(session!, { tools }));
        },
        signal,
      );
  },
};
