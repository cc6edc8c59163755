import { type LoroDoc, LoroList, LoroMap, LoroText } from "loro-crdt";
import { withChecksum } from "./loro-checksum.js";

/** Updates that no client should send, each made on a copy of a block's document under a peer that the client was given. */
export type Hostile = (doc: LoroDoc) => Uint8Array;

function since(doc: LoroDoc, change: (doc: LoroDoc) => void): Uint8Array {
  const from = doc.version();
  change(doc);
  doc.commit();
  return doc.export({ mode: "update", from });
}

export const hostileUpdates: Readonly<Record<string, Hostile>> = {
  "4,000 nested maps": (doc) =>
    since(doc, () => {
      let map = doc.getMap("fields").setContainer("deep", new LoroMap());
      for (let level = 0; level < 4_000; level++) map = map.setContainer("m", new LoroMap());
    }),
  "a flood of empty containers": (doc) =>
    since(doc, () => {
      const list = doc.getMap("fields").setContainer("many", new LoroList());
      for (let at = 0; at < 15_000; at++) list.pushContainer(new LoroMap());
    }),
  "a container in a list": (doc) =>
    since(doc, () => {
      doc.getMovableList("items").pushContainer(new LoroText());
    }),
  "a container that the schema does not have": (doc) =>
    since(doc, () => doc.getText("secrets").insert(0, "x")),
  "another kind of container of a known name": (doc) => since(doc, () => doc.getMap("text").set("a", 1)),
  "a tree": (doc) => since(doc, () => doc.getTree("items").createNode()),
  "a style": (doc) =>
    since(doc, () => {
      doc.getText("text").insert(0, "ab");
      doc.getText("text").mark({ start: 0, end: 1 }, "bold", true);
    }),
  "another peer's id": (doc) => {
    doc.setPeerId(12_345n);
    return since(doc, () => doc.getText("text").insert(0, "x"));
  },
  "the server's peer id": (doc) => {
    const [server] = [...doc.version().toJSON().keys()];
    doc.setPeerId(server ?? 1n);
    return since(doc, () => doc.getText("text").insert(0, "x"));
  },
  "a snapshot": (doc) => {
    since(doc, () => doc.getText("text").insert(0, "x".repeat(100_000)));
    return doc.export({ mode: "snapshot" });
  },
  "ten megabytes in a snapshot of some kilobytes": (doc) => {
    since(doc, () => doc.getText("text").insert(0, "x".repeat(10_000_000)));
    return doc.export({ mode: "snapshot" });
  },
  "a shallow snapshot": (doc) => {
    since(doc, () => doc.getText("text").insert(0, "x"));
    return doc.export({ mode: "shallow-snapshot", frontiers: doc.frontiers() });
  },
  "an update whose beginning is missing": (doc) => {
    since(doc, () => doc.getText("text").insert(0, "one"));
    return since(doc, () => doc.getText("text").insert(0, "two"));
  },
  "too many operations": (doc) =>
    since(doc, () => {
      for (let at = 0; at < 25_000; at++) doc.getText("text").insert(0, "x");
    }),
  "nothing at all": () => new Uint8Array([0]),
  "random bytes": () => Uint8Array.from({ length: 500 }, (_, at) => (at * 7_919) % 256),
};

/** A small random number generator with a seed. */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A good update with some bytes changed, cut or added; half of them with a checksum that fits again. */
export function mutated(update: Uint8Array, random: () => number): Uint8Array {
  const bytes = damaged(update, random);
  return random() < 0.5 ? withChecksum(bytes) : bytes;
}

function damaged(update: Uint8Array, random: () => number): Uint8Array {
  const bytes = Uint8Array.from(update);
  const at = () => Math.floor(random() * bytes.length);
  const kind = random();
  if (kind < 0.15) return bytes.slice(0, at());
  if (kind < 0.25) return Uint8Array.from([...bytes, ...bytes.slice(at())]);
  // Behind the header: magic, checksum and mode take 22 bytes.
  for (let count = 1 + Math.floor(random() * 6); count > 0; count--) {
    const place = kind < 0.9 ? 22 + Math.floor(random() * (bytes.length - 22)) : at();
    bytes[place] = Math.floor(random() * 256);
  }
  return bytes;
}
