import type {
  CompositeSchema,
  FieldSchema,
  IncrementCounter,
  ListSchema,
  LogSchema,
  MapSchema,
} from "../../../contract/gen/quire/v1/memory.js";
import type { InsertArchivalRequest, PeerVersion } from "../../../contract/gen/quire/v1/memory_service.js";
import { FieldType } from "../../../domain/memory.js";
import type { Checker } from "../checker.js";
import { checkJson } from "./json-check.js";
import { checkOnce } from "./once.js";

const decimal = /^[0-9]{1,20}$/;
const maxPeer = 2n ** 64n - 1n;

export const memoryChecks = {
  // Names once.
  MapSchema: (checker: Checker, { fields }: MapSchema) =>
    checkOnce(checker, "fields", fields, "name", ({ name }) => name),
  CompositeSchema: (checker: Checker, { sections }: CompositeSchema) =>
    checkOnce(checker, "sections", sections, "name", ({ name }) => name),
  LogSchema: (checker: Checker, { fields }: LogSchema) => {
    checkOnce(checker, "fields", fields, "name", ({ name }) => name);
    checkNoCounters(checker, "fields", fields);
  },
  // A counter is a document's, and an item is a value.
  ListSchema: (checker: Checker, { item }: ListSchema) =>
    checkNoCounters(checker, "item.fields", item?.fields ?? []),
  // A rule lets NaN pass: it is neither less nor more.
  IncrementCounter: (checker: Checker, { by }: IncrementCounter) => {
    if (Number.isNaN(by)) checker.wrong("by", "is not a number");
  },
  // A rule counts digits: not every number of 20 digits has 64 bits.
  PeerVersion: (checker: Checker, { peer }: PeerVersion) => {
    if (decimal.test(peer) && BigInt(peer) > maxPeer) checker.wrong("peer", "has more than 64 bits");
  },
  // Rules do not look into JSON.
  InsertArchivalRequest: (checker: Checker, { metadataJson }: InsertArchivalRequest) =>
    checkJson(checker, "metadata_json", metadataJson, { isObject: true }),
};

function checkNoCounters(checker: Checker, list: string, fields: readonly FieldSchema[]): void {
  fields.forEach(({ type }, index) => {
    if (type === FieldType.COUNTER) checker.wrong(`${list}[${index}].type`, "cannot be a counter here");
  });
}
