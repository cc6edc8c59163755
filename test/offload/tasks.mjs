import { threadId } from "node:worker_threads";

/** Says that it began, and waits until it is told to go on. */
export function held({ start, value }) {
  const state = new Int32Array(start);
  Atomics.add(state, 0, 1);
  Atomics.notify(state, 0);
  Atomics.wait(state, 1, 0);
  return value;
}

export const plain = ({ value }) => value + 1;

export const exits = () => process.exit(3);

export const throws = () => {
  throw new RangeError("too far");
};

export const spins = () => {
  for (;;);
};

export const threadOfTask = () => threadId;

const kept = [];

/** Holds so many more bytes than before, as a library in WebAssembly does. */
export const holds = ({ value }) => kept.push(new WebAssembly.Memory({ initial: value / 65_536 }));
