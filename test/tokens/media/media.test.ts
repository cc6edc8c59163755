import { readFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { packageRoot } from "../../../src/config/package-root.js";
import { findModel, parseCatalogue } from "../../../src/models/catalogue.js";
import { mediaTokens } from "../../../src/models/media-tokens.js";
import { scaled, scaleOf } from "../../../src/models/token-scale.js";
import { conservativeTokens } from "../../../src/tokens/media/conservative-tokens.js";
import { readImageSize } from "../../../src/tokens/media/image-size.js";
import { fileMedia, imageMedia } from "../../../src/tokens/media/media.js";
import { pdfPages } from "../../../src/tokens/media/pdf-pages.js";
import { gif, jpeg, packedPdf, pdf, png, webp } from "./pictures.js";

const catalogue = parseCatalogue(readFileSync(join(packageRoot, "src", "models", "catalogue.json"), "utf8"));
const data = (value: Buffer) => ({ $case: "data" as const, value });
const image = (width: number, height: number) =>
  ({ kind: "image", size: { width, height }, isEstimated: false }) as const;
const tokens = (model: string, width: number, height: number) =>
  mediaTokens(findModel(catalogue, model).entry, image(width, height));

describe("a picture's size", () => {
  test.each([
    ["PNG", png],
    ["JPEG", jpeg],
    ["GIF", gif],
    ["WebP", webp],
  ])("is read from the header of a %s", (_, make) => {
    for (const [width, height] of [
      [1, 1],
      [1_024, 768],
      [9_999, 16],
    ] as const)
      expect(readImageSize(make(width, height))).toEqual({ width, height });
  });

  test("is found behind much else in a JPEG", () => {
    expect(readImageSize(jpeg(4_032, 3_024, 2_000))).toEqual({ width: 4_032, height: 3_024 });
  });

  test("is not known of what is cut off, empty, or something else, and nothing is thrown", () => {
    for (const whole of [png(10, 10), jpeg(10, 10), gif(10, 10), webp(10, 10)])
      for (let length = 0; length < 8; length++)
        expect(readImageSize(whole.subarray(0, length))).toBeUndefined();
    expect(readImageSize(Buffer.from("<svg width='10' height='10'/>"))).toBeUndefined();
    expect(imageMedia({ source: data(Buffer.from("no picture")), mediaType: "image/png" })).toEqual({
      kind: "image",
      size: { width: 1_568, height: 1_568 },
      isEstimated: true,
    });
    const uri = { $case: "uri" as const, value: `data:image/png;base64,${png(640, 480).toString("base64")}` };
    expect(imageMedia({ source: uri, mediaType: "" })).toMatchObject({ size: { width: 640, height: 480 } });
  });

  test("costs a bounded number of tokens, whatever bytes claim", () => {
    const kinds = fc.constantFrom(png, jpeg, gif, webp);
    const hostile = fc
      .tuple(kinds, fc.uint8Array({ maxLength: 200 }), fc.nat(60))
      .map(([make, noise, at]) => Buffer.concat([make(100, 100).subarray(0, at), Buffer.from(noise)]));
    fc.assert(
      fc.property(hostile, (bytes) => {
        const media = imageMedia({ source: data(bytes), mediaType: "image/png" });
        if (media.kind !== "image") throw new Error("a picture is a picture");
        const cost = conservativeTokens(media);
        expect(Number.isInteger(cost) && cost >= 1_120 && cost <= 24_000).toBe(true);
      }),
      { numRuns: 2_000, seed: 12 },
    );
    expect(conservativeTokens(image(2 ** 31, 2 ** 31))).toBeLessThanOrEqual(24_000);
    expect(conservativeTokens(image(Number.NaN, 1))).toBeLessThanOrEqual(24_000);
  });
});

describe("a picture's tokens are those of its provider's published examples", () => {
  test.each([
    ["gpt-4o", 1_024, 1_024, 765],
    ["gpt-4o", 2_048, 4_096, 1_105],
    ["gpt-4.1-mini", 1_024, 1_024, Math.ceil(1_024 * 1.62)],
    ["gpt-4.1-mini", 1_800, 2_400, Math.ceil(1_452 * 1.62)],
    ["gpt-5.6-sol", 512, 512, 308],
    ["gpt-5.6-sol", 1_920, 1_080, 2_448],
    ["claude-sonnet-4-5", 1_000, 1_000, 1_334],
    ["claude-sonnet-4-5", 1_092, 1_092, 1_590],
    ["claude-opus-5-5", 1_920, 1_080, 2_765],
    ["gemini-2.5-pro", 384, 384, 258],
    ["gemini-2.5-pro", 960, 540, 6 * 258],
    ["gemini-3.1-pro-preview", 4_032, 3_024, 1_120],
  ])("for %s, %i by %i: %i", (model, width, height, expected) => {
    expect(tokens(model, width, height)).toBe(expected);
  });

  test("and are capped where the provider scales down", () => {
    expect(tokens("claude-sonnet-4-5", 8_000, 8_000)).toBeLessThanOrEqual(1_640);
    expect(tokens("claude-opus-5-5", 8_000, 8_000)).toBeLessThanOrEqual(5_002);
    expect(tokens("gpt-4.1-nano", 8_000, 8_000)).toBeLessThanOrEqual(Math.ceil(1_536 * 2.46));
  });

  test("and the figure that is stored is never less, for any model of the catalogue", () => {
    const entries = [
      ...catalogue.models,
      ...catalogue.families.map(({ name, entry }) => [name, entry] as const),
    ];
    const sizes = fc.tuple(fc.integer({ min: 1, max: 9_000 }), fc.integer({ min: 1, max: 9_000 }));
    fc.assert(
      fc.property(sizes, ([width, height]) => {
        const picture = image(width, height);
        for (const [name, entry] of entries) {
          const stored = conservativeTokens(picture, scaleOf(entry).vocabulary);
          expect(stored, `${name} ${width}x${height}`).toBeGreaterThanOrEqual(mediaTokens(entry, picture));
          const page = { kind: "pages", pages: 3, isEstimated: false } as const;
          const pages = scaled(scaleOf(entry), conservativeTokens(page));
          expect(pages, name).toBeGreaterThanOrEqual(mediaTokens(entry, page));
        }
      }),
      { numRuns: 200, seed: 13 },
    );
  });
});

describe("a file", () => {
  test("of PDF costs by its pages, packed or not", () => {
    for (const pages of [1, 3, 40]) {
      expect(pdfPages(pdf(pages))).toBe(pages);
      expect(pdfPages(packedPdf(pages))).toBe(pages);
    }
    const media = fileMedia({ source: data(pdf(7)), mediaType: "application/pdf", name: "a.pdf" });
    expect(media).toEqual({ kind: "pages", pages: 7, isEstimated: false });
  });

  test("that lies about its pages, is cut off or a bomb is bounded, and nothing is thrown", () => {
    expect(pdfPages(pdf(2, 999_999))).toBe(2);
    const bomb = Buffer.concat([
      Buffer.from("%PDF-1.7\n<</Type/ObjStm>>\nstream\n"),
      deflateSync(Buffer.alloc(64 * 1024 * 1024)),
      Buffer.from("\nendstream"),
    ]);
    expect(pdfPages(bomb)).toBeUndefined();
    const whole = packedPdf(5);
    for (let length = 0; length < whole.length; length += 7)
      expect(() => pdfPages(whole.subarray(0, length))).not.toThrow();
    const slow = Buffer.from(`%PDF-1.4 ${"/Type ".repeat(20_000)}${"/Count ".repeat(20_000)}`);
    expect(pdfPages(slow)).toBeUndefined();
    const unread = fileMedia({ source: data(slow), mediaType: "application/pdf", name: "" });
    expect(unread).toEqual({ kind: "pages", pages: Math.ceil(slow.length / 50_000), isEstimated: true });
  });

  test("of text is counted as text, by its type or by what it holds", () => {
    const text = "id,name\n1,Ada\n";
    for (const mediaType of ["text/csv; charset=utf-8", "application/json", "", "application/x-unknown"])
      expect(fileMedia({ source: data(Buffer.from(text)), mediaType, name: "" })).toEqual({
        kind: "text",
        text,
      });
  });

  test("that only a URI names, or that nobody can read, is taken for a page", () => {
    const page = { kind: "pages", pages: 1, isEstimated: true };
    const uri = { $case: "uri" as const, value: "https://example.org/a.pdf" };
    expect(fileMedia({ source: uri, mediaType: "application/pdf", name: "" })).toEqual(page);
    expect(
      fileMedia({ source: data(Buffer.from([0, 1, 2])), mediaType: "application/zip", name: "" }),
    ).toEqual(page);
    expect(fileMedia({ source: undefined, mediaType: "", name: "" })).toEqual(page);
  });
});
