/** A file or a text that is not what it should be. The message is for the person who gave it. */
export class UnreadableInput extends Error {
  override readonly name = "UnreadableInput";
}
