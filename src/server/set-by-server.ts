import { type DescField, getOption } from "@bufbuild/protobuf";
import { contractRegistry } from "../contract/descriptors.js";

/** Whether the contract says that only the server sets a field: in a request it means nothing. */
export function isSetByServer(field: DescField): boolean {
  const behavior = contractRegistry().getExtension("google.api.field_behavior")!;
  const outputOnly = behavior.enum!.values.find(({ name }) => name === "OUTPUT_ONLY")!;
  return (getOption(field, behavior) as readonly number[]).includes(outputOnly.number);
}
