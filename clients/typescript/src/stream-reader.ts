import { BodyFormat } from "./gen/quire/v1/rendering.js";

interface Read {
  readonly text?: string | undefined;
  readonly isDone?: boolean;
}

// biome-ignore lint/suspicious/noExplicitAny: an event is what a provider sent
type Event = any;

/** What matters of an event while it streams. The whole is read by the server. */
const events: Readonly<Record<string, (event: Event) => Read>> = {
  [BodyFormat.ANTHROPIC_MESSAGES]: ({ type, delta }) => ({
    text: delta?.text,
    isDone: type === "message_stop",
  }),
  [BodyFormat.OPENAI_RESPONSES]: ({ type, delta }) => ({
    text: type === "response.output_text.delta" ? delta : undefined,
    isDone: /^response\.(completed|incomplete|failed)$/.test(type),
  }),
  [BodyFormat.OPENAI_CHAT]: ({ choices }) => ({
    text: choices?.[0]?.delta?.content,
    isDone: Boolean(choices?.[0]?.finish_reason),
  }),
  [BodyFormat.GEMINI]: ({ candidates, promptFeedback }) => ({
    text: candidates?.[0]?.content?.parts
      ?.map((part: Event) => (part.thought ? "" : (part.text ?? "")))
      .join(""),
    isDone: Boolean(candidates?.[0]?.finishReason ?? promptFeedback?.blockReason),
  }),
};

/** Reads the text out of a provider's server-sent events, and whether the answer came to its end. */
export class StreamReader {
  isDone = false;
  /** An error that came in the stream. */
  error = "";
  private rest = "";
  private readonly decoder = new TextDecoder();

  constructor(
    private readonly format: BodyFormat,
    private readonly onText: (piece: string) => void,
  ) {}

  read(chunk: Uint8Array): void {
    const lines = (this.rest + this.decoder.decode(chunk, { stream: true })).split(/\r?\n/);
    this.rest = lines.pop() ?? "";
    for (const line of lines) {
      if (!line.startsWith("data:") || line.includes("[DONE]")) continue;
      const event: Event = JSON.parse(line.slice(5));
      if (event.type === "error" || event.error) this.error = line.slice(5);
      const { text, isDone } = events[this.format]!(event);
      if (text) this.onText(text);
      this.isDone ||= isDone === true && this.error === "";
    }
  }
}
