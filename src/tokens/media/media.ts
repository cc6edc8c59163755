import type { FilePart, ImagePart } from "../../domain/message.js";
import { isTextType } from "../../domain/text-type.js";
import { readImageSize } from "./image-size.js";
import type { ImageSize } from "./image-tokens.js";
import { pdfPages } from "./pdf-pages.js";

/** What there is to count of an image or a file. */
export type Media =
  | { readonly kind: "image"; readonly size: ImageSize; readonly isEstimated: boolean }
  | { readonly kind: "pages"; readonly pages: number; readonly isEstimated: boolean }
  | { readonly kind: "text"; readonly text: string };

/** A picture whose size nobody can see is taken to be so large. */
export const assumedImage: ImageSize = { width: 1_568, height: 1_568 };
/** A PDF that does not say how many pages it has: so many bytes are taken for one. */
const bytesOfPage = 50_000;

const pdfType = "application/pdf";

export function imageMedia({ source }: ImagePart): Media {
  const size = source && readImageSize(bytesOf(source));
  return { kind: "image", size: size ?? assumedImage, isEstimated: size === undefined };
}

/** What only a URI names, or is of a kind that nobody reads, is taken for one page. */
export function fileMedia({ source, mediaType }: FilePart): Media {
  const onePage = { kind: "pages", pages: 1, isEstimated: true } as const;
  const bytes = source ? bytesOf(source) : nothing;
  if (bytes.length === 0) return onePage;
  const type = mediaType.split(";", 1)[0]!.trim().toLowerCase();
  if (type === pdfType || bytes.subarray(0, 5).toString("latin1") === "%PDF-") {
    const pages = pdfPages(bytes);
    if (pages !== undefined) return { kind: "pages", pages, isEstimated: false };
    return { kind: "pages", pages: Math.ceil(bytes.length / bytesOfPage), isEstimated: true };
  }
  if (!isTextType(type) && !isText(bytes)) return onePage;
  return { kind: "text", text: bytes.toString("utf8") };
}

const nothing = Buffer.alloc(0);

type Source = NonNullable<ImagePart["source"]>;

/** What is inline: in bytes, or in a data URI. */
function bytesOf(source: Source): Buffer {
  if (source.$case === "data") return source.value;
  const [, data] = /^data:[^,]{0,256};base64,(.*)$/s.exec(source.value) ?? [];
  return data === undefined ? nothing : Buffer.from(data, "base64");
}

const decoder = new TextDecoder("utf-8", { fatal: true });

function isText(bytes: Buffer): boolean {
  if (bytes.includes(0)) return false;
  try {
    decoder.decode(bytes);
    return true;
  } catch {
    return false;
  }
}
