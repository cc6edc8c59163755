import { disableTypes, imageSize, types } from "image-size";
import type { ImageSize } from "./image-tokens.js";

/** What providers take. The readers of other formats are turned off: nobody needs them, and each is a way in. */
const read = new Set<string>(["png", "jpg", "gif", "webp", "bmp"]);
disableTypes(types.filter((type) => !read.has(type)));

/** How large a picture is, by its header; undefined where that cannot be read. Never throws. */
export function readImageSize(bytes: Uint8Array): ImageSize | undefined {
  try {
    // A copy: the readers look past the end of a view into whatever comes after it.
    const { width, height } = imageSize(new Uint8Array(bytes));
    return isSize(width) && isSize(height) ? { width, height } : undefined;
  } catch {
    return undefined;
  }
}

function isSize(pixels: unknown): pixels is number {
  return typeof pixels === "number" && Number.isFinite(pixels) && pixels > 0;
}
