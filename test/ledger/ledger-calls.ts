import { type CallOptions, type ClientReadableStream, Metadata, type ServiceError } from "@grpc/grpc-js";
import * as wire from "../../src/contract/gen/quire/v1/ledger_service.js";
import type { Message } from "../../src/contract/gen/quire/v1/message.js";
import type { Session } from "../../src/contract/gen/quire/v1/session.js";
import type { Turn } from "../../src/contract/gen/quire/v1/turn.js";

/** The service through the generated client, as promises and async iterables. */

const requests = {
  createSession: wire.CreateSessionRequest,
  getSession: wire.GetSessionRequest,
  listSessions: wire.ListSessionsRequest,
  updateSession: wire.UpdateSessionRequest,
  deleteSession: wire.DeleteSessionRequest,
  forkSession: wire.ForkSessionRequest,
  aliasSession: wire.AliasSessionRequest,
  unaliasSession: wire.UnaliasSessionRequest,
  recordTurn: wire.RecordTurnRequest,
  beginTurn: wire.BeginTurnRequest,
  appendMessages: wire.AppendMessagesRequest,
  completeTurn: wire.CompleteTurnRequest,
  renewLease: wire.RenewLeaseRequest,
  getTurn: wire.GetTurnRequest,
  listTurns: wire.ListTurnsRequest,
  compact: wire.CompactRequest,
  submitCompaction: wire.SubmitCompactionRequest,
};

type UnaryName = keyof typeof requests;
type PartialRequest<Name extends UnaryName> = Parameters<(typeof requests)[Name]["create"]>[0];
type Answer<Name extends UnaryName> = ReturnType<
  (typeof wire.LedgerServiceService)[Name]["responseDeserialize"]
>;

export type UnaryCalls = {
  readonly [Name in UnaryName]: (
    request?: PartialRequest<Name>,
    options?: Partial<CallOptions>,
  ) => Promise<Answer<Name>>;
};

export type HistoryRequest = Parameters<typeof wire.StreamHistoryRequest.create>[0];
export type WatchRequest = Parameters<typeof wire.WatchSessionRequest.create>[0];

/** A whole history, as it was streamed. */
export interface History {
  readonly thread: wire.ThreadSummary;
  readonly messages: readonly Message[];
  readonly batches: readonly wire.StreamHistoryResponse[];
}

export interface LedgerCalls extends UnaryCalls {
  history(request: HistoryRequest, options?: Partial<CallOptions>): Promise<History>;
  watch(request: WatchRequest): Watcher;
  /** A new session, whole. */
  session(request?: PartialRequest<"createSession">): Promise<Session>;
  /** Records a completed turn and gives it back. */
  turn(
    session: string,
    parentTurnId: string,
    messages: readonly Message[],
    more?: PartialRequest<"recordTurn">,
  ): Promise<Turn>;
}

export function ledgerCalls(client: wire.LedgerServiceClient): LedgerCalls {
  const unary = Object.fromEntries(
    Object.entries(requests).map(([name, codec]) => [
      name,
      (request: object = {}, options: Partial<CallOptions> = {}) =>
        new Promise((resolve, reject) => {
          const done = (error: ServiceError | null, answer: unknown) =>
            error ? reject(error) : resolve(answer);
          const method = client[name as UnaryName] as (...args: readonly unknown[]) => unknown;
          method.call(client, codec.create(request), new Metadata(), options, done);
        }),
    ]),
  ) as unknown as UnaryCalls;
  return {
    ...unary,
    history: (request, options) =>
      readHistory(client.streamHistory(wire.StreamHistoryRequest.create(request), options)),
    watch: (request) => new Watcher(client.watchSession(wire.WatchSessionRequest.create(request))),
    session: async (request) => (await unary.createSession(request)).session!,
    turn: async (session, parentTurnId, messages, more) =>
      (await unary.recordTurn({ session, parentTurnId, messages: [...messages], ...more })).turn!,
  };
}

export async function readHistory(
  stream: ClientReadableStream<wire.StreamHistoryResponse>,
): Promise<History> {
  const batches: wire.StreamHistoryResponse[] = [];
  for await (const batch of stream) batches.push(batch as wire.StreamHistoryResponse);
  const failed = failedWhilePaused.get(stream);
  if (failed) throw failed;
  const thread = batches[0]?.thread ?? wire.ThreadSummary.create();
  return { thread, batches, messages: batches.flatMap((batch) => batch.messages) };
}

/** grpc-js says that a call failed as soon as it knows, whether anybody reads or not: whoever reads on hears of it. */
const failedWhilePaused = new WeakMap<ClientReadableStream<wire.StreamHistoryResponse>, Error>();

/** A stream whose client reads the first batch, and then no more until it is read on. */
export async function pausedHistory(
  stream: ClientReadableStream<wire.StreamHistoryResponse>,
): Promise<ClientReadableStream<wire.StreamHistoryResponse>> {
  await new Promise<void>((resolve, reject) => {
    stream.once("error", reject);
    stream.once("data", () => {
      stream.pause();
      stream.off("error", reject);
      stream.on("error", (error) => failedWhilePaused.set(stream, error));
      resolve();
    });
  });
  return stream;
}

export type WatchEvent = NonNullable<wire.WatchSessionResponse["event"]>;

/** A running WatchSession, read event by event. */
export class Watcher {
  private readonly events: WatchEvent[] = [];
  private ended: { readonly error: unknown } | undefined;
  private wake = () => {};

  constructor(private readonly stream: ClientReadableStream<wire.WatchSessionResponse>) {
    stream.on("data", (response: wire.WatchSessionResponse) => {
      this.events.push(response.event!);
      this.wake();
    });
    const end = (error: unknown) => {
      this.ended ??= { error };
      this.wake();
    };
    stream.on("error", end);
    stream.on("end", () => end(undefined));
  }

  async next(): Promise<WatchEvent> {
    while (this.events.length === 0) {
      if (this.ended) throw this.ended.error ?? new Error("the stream has ended");
      await this.change();
    }
    return this.events.shift()!;
  }

  async take(count: number): Promise<WatchEvent[]> {
    const taken: WatchEvent[] = [];
    while (taken.length < count) taken.push(await this.next());
    return taken;
  }

  /** All that is left when the server has ended the stream. */
  async rest(): Promise<WatchEvent[]> {
    while (!this.ended) await this.change();
    if (this.ended.error) throw this.ended.error;
    return this.events.splice(0);
  }

  /** How many events have arrived and were not read. */
  get unread(): number {
    return this.events.length;
  }

  cancel(): void {
    this.stream.cancel();
  }

  private change(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve;
    });
  }
}

/** All turns of a session, page by page, the newest first. */
export async function allTurns(
  calls: LedgerCalls,
  request: Parameters<LedgerCalls["listTurns"]>[0],
): Promise<Turn[]> {
  const turns: Turn[] = [];
  for (let pageToken = ""; ; ) {
    const page = await calls.listTurns({ ...request, pageToken });
    turns.push(...page.turns);
    if (page.nextPageToken === "") return turns;
    pageToken = page.nextPageToken;
  }
}
