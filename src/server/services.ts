import type { AssemblyDeps } from "../assembly/deps.js";
import type { CapsuleDeps } from "../capsule/capsules.js";
import type { LedgerDeps } from "../ledger/deps.js";
import type { MemoryDeps } from "../memory/deps.js";
import type { RecallDeps } from "../recall/deps.js";
import type { SourceDeps } from "../sources/deps.js";
import type { WorkspaceDeps } from "../workspace/deps.js";
import { assemblyService } from "./handlers/assembly.js";
import { capsuleService } from "./handlers/capsule.js";
import { ledgerService } from "./handlers/ledger.js";
import { memoryService } from "./handlers/memory.js";
import { sourceService } from "./handlers/source.js";
import { workspaceService } from "./handlers/workspace.js";

/** What the services are made of. */
export interface Rooms {
  readonly ledger: LedgerDeps;
  readonly capsules: CapsuleDeps;
  readonly workspaces: WorkspaceDeps;
  readonly memory: MemoryDeps;
  readonly recall: RecallDeps;
  readonly sources: SourceDeps;
  readonly assembly: AssemblyDeps;
}

/** The services of the contract, on these rooms. */
export function servicesOn({ ledger, capsules, workspaces, memory, recall, sources, assembly }: Rooms) {
  return {
    ledger: ledgerService(ledger, assembly),
    capsules: capsuleService(capsules),
    workspaces: workspaceService(workspaces),
    memory: memoryService(memory, recall),
    sources: sourceService(sources),
    assembly: assemblyService(assembly),
  };
}
