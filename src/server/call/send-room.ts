import { EventEmitter, once } from "node:events";
import { type EncodedResponse, size } from "../encoded-response.js";
import type { ServerCall } from "../transport/server-call.js";

/** About how many bytes may wait for a client; one response that is larger waits alone. */
const maxWaitingBytes = 1024 * 1024;
/** What a response takes beside its bytes. */
const overheadBytes = 1_024;

/** Counts what waits to be sent on a stream. */
export class SendRoom {
  private waitingBytes = 0;
  private readonly sent = new EventEmitter();

  constructor(
    private readonly call: Pick<ServerCall, "send">,
    private readonly signal: AbortSignal,
    /** Called when the call begins to wait for its client. */
    private readonly waits: () => void,
  ) {}

  async send(response: EncodedResponse): Promise<void> {
    const bytes = size(response) + overheadBytes;
    while (this.waitingBytes > 0 && this.waitingBytes + bytes > maxWaitingBytes) {
      this.waits();
      await once(this.sent, "sent", { signal: this.signal });
    }
    this.waitingBytes += bytes;
    const entering = this.call.send(response, () => {
      this.waitingBytes -= bytes;
      this.sent.emit("sent");
    });
    if (!entering) return;
    this.waits();
    await entering;
  }
}
