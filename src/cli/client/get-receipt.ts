import type { Receipt } from "../../contract/gen/quire/v1/assembly.js";
import type { Assembly } from "./quire-client.js";

export async function getReceipt(assembly: Assembly, assemblyId: string): Promise<Receipt> {
  return (await assembly.getReceipt({ assemblyId })).receipt!;
}
