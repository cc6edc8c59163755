import {
  type ContextCandidate,
  type InputHash,
  type PromptSection,
  Receipt,
} from "../contract/gen/quire/v1/assembly.js";
import { ownConcat } from "../domain/memory-size.js";
import { listWire, wireBytes, written } from "../domain/wire-bytes.js";

/** The lists of a receipt, each in the parts that it is made of: most of these are the same from one context to the next. */
export interface ReceiptLists {
  readonly candidates: readonly (readonly ContextCandidate[])[];
  readonly inputs: readonly (readonly InputHash[])[];
  readonly sections: readonly PromptSection[];
}

/**
 * What later assemblies look at in a receipt, in wire form: all but its lists, which are long, and for people. Its sections may be given
 * as the list that is kept of them.
 */
export function coreWire(receipt: Receipt, sections: readonly PromptSection[] = receipt.sections): Buffer {
  const { historyLayer } = receipt;
  const sectionBytes = listWire(sections, sectionsWire);
  const others = {
    ...receipt,
    candidates: [],
    inputs: [],
    sections: [],
    historyLayer: historyLayer && { ...historyLayer, elisions: [] },
  };
  return written((writer) => Receipt.encode(others, writer).raw(sectionBytes));
}

/** A whole receipt in wire form, from one without its lists, its core, and the lists. */
export function receiptWire(receipt: Receipt, core: Buffer, { candidates, inputs }: ReceiptLists): Buffer {
  const named = receipt.historyLayer?.elisions ?? [];
  return ownConcat([
    named.length > 0 ? wireBytes(Receipt, receipt) : core,
    ...candidates.map((list) => listWire(list, candidatesWire)),
    ...inputs.map((list) => listWire(list, inputsWire)),
  ]);
}

const emptyReceipt = Receipt.create();

function candidatesWire(candidates: readonly ContextCandidate[]): Buffer {
  return wireBytes(Receipt, { ...emptyReceipt, candidates: [...candidates] });
}

function inputsWire(inputs: readonly InputHash[]): Buffer {
  return wireBytes(Receipt, { ...emptyReceipt, inputs: [...inputs] });
}

function sectionsWire(sections: readonly PromptSection[]): Buffer {
  return wireBytes(Receipt, { ...emptyReceipt, sections: [...sections] });
}
