import { inflateSync } from "node:zlib";

/** What is unpacked of all streams together, and how many are looked at: a small file can unpack to anything. */
const mostUnpackedBytes = 2 * 1024 * 1024;
const mostStreams = 256;
/** A page says so in its dictionary; /Pages is the tree above them. */
const page = /\/Type\s{0,8}\/Page(?![a-zA-Z])/g;
/** What the tree says of how many pages are below it. */
const count = /\/Count\s{1,8}(\d{1,6})(?!\d)/g;

/** How many pages a PDF has; undefined where it does not say. Never throws, and its work is bounded. */
export function pdfPages(bytes: Buffer): number | undefined {
  if (bytes.subarray(0, 1_024).indexOf("%PDF-") < 0) return undefined;
  let pages = 0;
  let counted = 0;
  const look = (text: string) => {
    pages += text.match(page)?.length ?? 0;
    for (const [, number] of text.matchAll(count)) counted = Math.max(counted, Number(number));
  };
  look(bytes.toString("latin1"));
  for (const unpacked of objectStreams(bytes)) look(unpacked.toString("latin1"));
  // The tree can be made up, and pages can be left over from before an edit: the tree is believed where there are as many pages.
  if (counted > 0 && counted <= pages) return counted;
  return pages > 0 ? pages : undefined;
}

/** The streams that hold objects, such as pages, unpacked. */
function* objectStreams(bytes: Buffer): Generator<Buffer> {
  let left = mostUnpackedBytes;
  let at = 0;
  for (let seen = 0; seen < mostStreams && left > 0; seen++) {
    at = bytes.indexOf("/ObjStm", at);
    if (at < 0) return;
    const start = bytes.indexOf("stream", at);
    if (start < 0) return;
    const data = start + "stream".length;
    const end = bytes.indexOf("endstream", data);
    at = end < 0 ? bytes.length : end;
    const unpacked = inflated(bytes.subarray(afterLineEnd(bytes, data), at), left);
    if (!unpacked) continue;
    left -= unpacked.length;
    yield unpacked;
  }
}

function afterLineEnd(bytes: Buffer, at: number): number {
  const isReturn = bytes[at] === 0x0d;
  const next = isReturn ? at + 1 : at;
  return bytes[next] === 0x0a ? next + 1 : next;
}

function inflated(packed: Buffer, mostBytes: number): Buffer | undefined {
  try {
    return inflateSync(packed, { maxOutputLength: mostBytes });
  } catch {
    return undefined;
  }
}
