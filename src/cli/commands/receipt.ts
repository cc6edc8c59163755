import { Command } from "commander";
import type { Receipt } from "../../contract/gen/quire/v1/assembly.js";
import { comparisonJson, receiptJson } from "../../contract/proto-json.js";
import { printComparison } from "../assemble/comparison-text.js";
import { createLines } from "../assemble/lines.js";
import { printReceipt } from "../assemble/receipt-text.js";
import { getReceipt } from "../client/get-receipt.js";
import type { Assembly } from "../client/quire-client.js";
import { withClient } from "../client/with-client.js";
import { printJson, type Terminal } from "../terminal/terminal.js";
import { addServerFlags, examples, type ServerFlags } from "./options.js";

interface ReceiptFlags extends ServerFlags {
  readonly against?: string;
}

export function receiptCommand(terminal: Terminal): Command {
  const command = new Command("receipt")
    .description("show what went into a context, what was cut, and why")
    .argument("<id>", "the receipt's id, as quire assemble says it")
    .option("--against <id>", "say where it differs from another one, the older of the two first")
    .addHelpText(
      "after",
      examples(
        "quire receipt 01a0c5e2-7b7e-7c3e-9d0a-1f2e3d4c5b6a",
        "quire receipt 01a0c5e2-7b7e-7c3e-9d0a-1f2e3d4c5b6a --against 01a0c5e1-0c4b-7d2f-8a3b-6c5d4e3f2a1b",
      ),
    );
  return addServerFlags(command).action((id: string, flags: ReceiptFlags) =>
    withClient(flags, async ({ assembly }) => {
      if (flags.against) return compare(terminal, assembly, [id, flags.against], flags);
      const receipt = await getReceipt(assembly, id);
      if (flags.json) return printJson(terminal, receiptJson.toJson(receipt));
      printReceipt(createLines(terminal), receipt);
    }),
  );
}

async function compare(
  terminal: Terminal,
  assembly: Assembly,
  ids: readonly string[],
  { json }: ReceiptFlags,
): Promise<void> {
  const receipts = await Promise.all(ids.map((id) => getReceipt(assembly, id)));
  const [earlier, later] = receipts.sort((a, b) => timeOf(a) - timeOf(b)) as [Receipt, Receipt];
  const comparison = await assembly.compareReceipts({
    firstAssemblyId: earlier.assemblyId,
    secondAssemblyId: later.assemblyId,
  });
  if (json) return printJson(terminal, comparisonJson.toJson(comparison));
  printComparison(createLines(terminal), earlier, later, comparison);
}

function timeOf({ createTime }: Receipt): number {
  return createTime?.getTime() ?? 0;
}
