import { deflateSync } from "node:zlib";

/** Pictures and documents of which only what says their size is real. */

export function png(width: number, height: number): Buffer {
  const header = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
  const size = Buffer.alloc(13);
  size.writeUInt32BE(width, 0);
  size.writeUInt32BE(height, 4);
  size[8] = 8;
  return Buffer.concat([header, size, Buffer.alloc(4)]);
}

export function jpeg(width: number, height: number, segments = 1): Buffer {
  const extra = Buffer.concat([Buffer.from("ffe10102", "hex"), Buffer.alloc(256)]);
  const frame = Buffer.from("ffc0001108000000000301220002110103110100", "hex");
  frame.writeUInt16BE(height, 5);
  frame.writeUInt16BE(width, 7);
  return Buffer.concat([
    Buffer.from("ffd8ffe000104a46494600010100000100010000", "hex"),
    ...Array.from({ length: segments }, () => extra),
    frame,
    Buffer.from("ffd9", "hex"),
  ]);
}

export function gif(width: number, height: number): Buffer {
  const bytes = Buffer.concat([Buffer.from("GIF89a"), Buffer.alloc(16)]);
  bytes.writeUInt16LE(width, 6);
  bytes.writeUInt16LE(height, 8);
  return bytes;
}

export function webp(width: number, height: number): Buffer {
  const bytes = Buffer.alloc(40);
  bytes.write("RIFF", 0);
  bytes.writeUInt32LE(32, 4);
  bytes.write("WEBPVP8X", 8);
  bytes.writeUInt32LE(10, 16);
  bytes.writeUIntLE(width - 1, 24, 3);
  bytes.writeUIntLE(height - 1, 27, 3);
  return bytes;
}

export function pdf(pages: number, count = pages): Buffer {
  const each = Array.from(
    { length: pages },
    (_, at) => `${at + 3} 0 obj <</Type /Page /Parent 2 0 R>> endobj\n`,
  );
  return Buffer.from(
    `%PDF-1.4\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj\n2 0 obj <</Type/Pages /Count ${count}>> endobj\n${each.join("")}%%EOF`,
  );
}

/** As newer programs write them: the pages are packed. */
export function packedPdf(pages: number): Buffer {
  const objects = Array.from({ length: pages }, () => "<</Type/Page/Parent 2 0 R>>").join("\n");
  const packed = deflateSync(Buffer.from(`<</Type/Pages/Count ${pages}>>\n${objects}`));
  return Buffer.concat([
    Buffer.from(`%PDF-1.7\n5 0 obj <</Type/ObjStm/Filter/FlateDecode/Length ${packed.length}>>\nstream\r\n`),
    packed,
    Buffer.from("\nendstream endobj\n%%EOF"),
  ]);
}
