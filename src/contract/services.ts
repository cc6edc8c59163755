import { AssemblyServiceDefinition } from "./gen/quire/v1/assembly_service.js";
import { CapsuleServiceDefinition } from "./gen/quire/v1/capsule_service.js";
import { LedgerServiceDefinition } from "./gen/quire/v1/ledger_service.js";
import { MemoryServiceDefinition } from "./gen/quire/v1/memory_service.js";
import { SourceServiceDefinition } from "./gen/quire/v1/source_service.js";
import { WorkspaceServiceDefinition } from "./gen/quire/v1/workspace_service.js";

/** The services of the contract. */
export const services = {
  ledger: LedgerServiceDefinition,
  capsules: CapsuleServiceDefinition,
  workspaces: WorkspaceServiceDefinition,
  memory: MemoryServiceDefinition,
  sources: SourceServiceDefinition,
  assembly: AssemblyServiceDefinition,
} as const;
