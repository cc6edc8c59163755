import { type ContextRequest, HeldContext } from "../../contract/gen/quire/v1/assembly_service.js";
import { LayerPrinter } from "../assemble/layer-printer.js";
import type { Assembly } from "../client/quire-client.js";
import type { Terminal } from "../terminal/terminal.js";

/** What a caller keeps of a context for the next turn. */
export interface Assembled {
  /** The turn that the next one is written under. */
  readonly parentTurnId: string;
  readonly assemblyId: string;
  readonly held: HeldContext;
}

/** Assembles with the printing of `quire assemble`. */
export async function assembleOnce(
  terminal: Terminal,
  assembly: Assembly,
  context: ContextRequest,
): Promise<Assembled> {
  const printer = new LayerPrinter(terminal);
  let held = HeldContext.create();
  let parentTurnId = "";
  let assemblyId = "";
  for await (const response of assembly.assemble({ context })) {
    printer.print(response);
    const { event } = response;
    if (event?.$case === "resolved") ({ parentTurnId } = event.value);
    if (event?.$case === "tools") held = { ...held, toolsHash: event.value.hash };
    if (event?.$case === "system") held = { ...held, systemHash: event.value.hash };
    if (event?.$case === "history" && event.value.layer) {
      const { lastTurnId, chainHash, cutId } = event.value.layer;
      held = { ...held, lastTurnId, chainHash, cutId };
    }
    if (event?.$case === "completed") assemblyId = event.value.assemblyId ?? "";
  }
  return { parentTurnId, assemblyId, held };
}
