import type { RenderedBody, RenderedChunk } from "../../contract/gen/quire/v1/rendering.js";

/** Puts the pieces of a body together. */
export class BodyFold {
  private readonly pieces: Buffer[] = [];

  /** The whole body with its last piece; undefined before. */
  add({ data, about }: RenderedChunk): RenderedBody | undefined {
    this.pieces.push(data);
    return about && { ...about, body: Buffer.concat(this.pieces) };
  }
}
