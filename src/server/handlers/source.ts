import { SourceServiceDefinition } from "../../contract/gen/quire/v1/source_service.js";
import { deleteItems, listItems, putItems } from "../../sources/commands/items.js";
import {
  deleteObservations,
  listObservations,
  recordObservations,
} from "../../sources/commands/observations.js";
import {
  checkSource,
  deleteSource,
  getSource,
  listSources,
  putSource,
} from "../../sources/commands/source-registry.js";
import type { SourceDeps } from "../../sources/deps.js";
import { paged } from "../paged.js";
import { type Service, service } from "../service.js";

/** SourceService: each RPC is one command on sources. */
export function sourceService(sources: SourceDeps): Service<SourceServiceDefinition> {
  return service(SourceServiceDefinition, {
    putSource: ({ source }, { key }) => putSource(sources, key, source!),
    getSource: ({ name }, { tenantId }) => getSource(sources, tenantId, name),
    listSources: (_, { tenantId }) => listSources(sources, tenantId),
    deleteSource: ({ name }, { key }) => deleteSource(sources, key, name),
    checkSource: ({ name }, { tenantId, signal }) => checkSource(sources, tenantId, name, signal),
    putItems: (request, { key }) => putItems(sources, key, request),
    listItems: (request, { tenantId }) => listItems(sources, tenantId, paged(request)),
    deleteItems: (request, { key }) => deleteItems(sources, key, request),
    recordObservations: (request, { key }) => recordObservations(sources, key, request),
    listObservations: (request, { tenantId }) => listObservations(sources, tenantId, paged(request)),
    deleteObservations: (request, { key }) => deleteObservations(sources, key, request),
  });
}
