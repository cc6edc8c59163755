import type { RenderedBody, RenderedChunk } from "../../contract/gen/quire/v1/rendering.js";

/** Puts the pieces of a body together. */
export class BodyFold {
  readonly #pieces: Buffer[] = [];

  /** The whole body with its last piece; undefined before. */
  add({ data, rendered }: RenderedChunk): RenderedBody | undefined {
    this.#pieces.push(data);
    return rendered && { ...rendered, body: Buffer.concat(this.#pieces) };
  }
}
