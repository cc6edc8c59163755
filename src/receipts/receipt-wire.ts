import { type ContextCandidate, type InputHash, Receipt } from "../contract/gen/quire/v1/assembly.js";
import { ownConcat } from "../domain/memory-size.js";
import { wireBytes } from "../domain/wire-bytes.js";

/** The lists of a receipt, each in the parts that it is made of: most of these are the same from one context to the next. */
export interface ReceiptLists {
  readonly candidates: readonly (readonly ContextCandidate[])[];
  readonly inputs: readonly (readonly InputHash[])[];
}

/** What later assemblies look at in a receipt, in wire form: all but its lists, which are long, and for people. */
export function coreWire(receipt: Receipt): Buffer {
  const { historyLayer } = receipt;
  return wireBytes(Receipt, {
    ...receipt,
    candidates: [],
    inputs: [],
    historyLayer: historyLayer && { ...historyLayer, elisions: [] },
  });
}

/** A whole receipt in wire form, from one without its lists, its core, and the lists. */
export function receiptWire(receipt: Receipt, core: Buffer, { candidates, inputs }: ReceiptLists): Buffer {
  const named = receipt.historyLayer?.elisions ?? [];
  return ownConcat([
    named.length > 0 ? wireBytes(Receipt, receipt) : core,
    ...candidates.map((list) => listed(list, candidatesWire)),
    ...inputs.map((list) => listed(list, inputsWire)),
  ]);
}

const emptyReceipt = Receipt.create();

function candidatesWire(candidates: readonly ContextCandidate[]): Buffer {
  return wireBytes(Receipt, { ...emptyReceipt, candidates: [...candidates] });
}

function inputsWire(inputs: readonly InputHash[]): Buffer {
  return wireBytes(Receipt, { ...emptyReceipt, inputs: [...inputs] });
}

const wires = new WeakMap<readonly unknown[], Buffer>();

/** A list in wire form, made once for as long as the list is kept. */
function listed<T>(list: readonly T[], encode: (list: readonly T[]) => Buffer): Buffer {
  let wire = wires.get(list);
  if (!wire) {
    wire = encode(list);
    wires.set(list, wire);
  }
  return wire;
}
