import { EventEmitter, once } from "node:events";
import type { ServerWritableStream } from "@grpc/grpc-js";
import { size } from "../encoded-response.js";

/** About how many bytes may wait for a client; one response that is larger waits alone. */
const maxWaitingBytes = 1024 * 1024;

/** Counts what waits to be sent: grpc-js counts responses, however large they are. */
export class SendRoom {
  private waitingBytes = 0;
  private readonly sent = new EventEmitter();

  constructor(
    private readonly call: Pick<ServerWritableStream<unknown, unknown>, "write" | keyof EventEmitter>,
    private readonly signal: AbortSignal,
    /** Called when the call begins to wait for its client. */
    private readonly waits: () => void,
  ) {}

  async send(response: unknown): Promise<void> {
    const bytes = Array.isArray(response) ? size(response) : 0;
    while (this.waitingBytes > 0 && this.waitingBytes + bytes > maxWaitingBytes) {
      this.waits();
      await once(this.sent, "sent", { signal: this.signal });
    }
    this.waitingBytes += bytes;
    const hasRoom = this.call.write(response, () => {
      this.waitingBytes -= bytes;
      this.sent.emit("sent");
    });
    if (hasRoom) return;
    this.waits();
    await once(this.call, "drain", { signal: this.signal });
  }
}
