import {
  AssemblyServiceService,
  BuildContextRequest,
  type ContextRequest,
} from "../../src/contract/gen/quire/v1/assembly_service.js";
import { CapsuleServiceService, PutCapsuleRequest } from "../../src/contract/gen/quire/v1/capsule_service.js";
import {
  CreateSessionRequest,
  LedgerServiceService,
  type OnHeadMoved,
  RecordTurnRequest,
} from "../../src/contract/gen/quire/v1/ledger_service.js";
import { type DeepPartial, type Message, MessageRole } from "../../src/contract/gen/quire/v1/message.js";
import { text } from "../assembly-conversation.js";
import { Caller, type Tally } from "./caller.js";

/** The server that is attacked, as an attacker sees it. */
export class Target {
  readonly tally: Tally = {};
  readonly caller: Caller;

  constructor(
    readonly address: string,
    private readonly deadlineMs: number,
  ) {
    this.caller = this.connect();
  }

  /** One more connection. */
  connect(): Caller {
    return new Caller(this.address, this.tally, this.deadlineMs);
  }

  async sessions(count: number, prefix = "s"): Promise<string[]> {
    const labels = Array.from({ length: count }, (_, at) => `${prefix}${at}`);
    await someAtOnce(labels, 16, (label) =>
      this.caller.must(LedgerServiceService.createSession, CreateSessionRequest.create({ label })),
    );
    return labels;
  }

  /** An agent whose window takes whatever there is. */
  async putAgent(model = "gpt-4o"): Promise<void> {
    const persona = { corePrompt: "You help.", knobs: { intelligenceLevel: 9 }, model: { model } };
    const request = PutCapsuleRequest.fromPartial({ name: "agent", body: { persona } });
    await this.caller.must(CapsuleServiceService.putCapsule, request);
  }

  async record(request: RecordTurnRequest): Promise<string> {
    return (await this.caller.must(LedgerServiceService.recordTurn, request)).headTurnId;
  }

  async build(request: BuildContextRequest): Promise<string> {
    const answer = await this.caller.must(AssemblyServiceService.buildContext, request);
    return answer.context!.assemblyId;
  }
}

export function userTurn(session: string, said: string, onHeadMoved?: OnHeadMoved): RecordTurnRequest {
  const message = { role: MessageRole.USER, parts: [text(said)] };
  return turnOf(session, [message], onHeadMoved === undefined ? {} : { onHeadMoved });
}

export function turnOf(
  session: string,
  messages: DeepPartial<Message>[],
  more: DeepPartial<RecordTurnRequest> = {},
): RecordTurnRequest {
  return RecordTurnRequest.fromPartial({ session, messages, ...more });
}

/** A context of the agent, with as many tokens as there are, or so many for history. */
export function contextOf(
  session: string,
  more: DeepPartial<ContextRequest> = {},
  historyTokens?: number,
): BuildContextRequest {
  const model = more.model ?? "gpt-4o";
  const limits = {
    model,
    maxTokens: 50_000_000,
    memoryTokens: 0,
    ...(historyTokens ? { historyTokens } : {}),
  };
  return BuildContextRequest.fromPartial({
    context: {
      session,
      capsule: "agent",
      event: { content: [text("And now?")] },
      ...more,
      model,
      settings: { modelLimits: [limits], ...more.settings },
    },
  });
}

/** Works through all items, so many at a time; stops early when the signal says so. */
export async function someAtOnce<T>(
  items: Iterable<T>,
  atOnce: number,
  work: (item: T) => Promise<unknown>,
  signal?: AbortSignal,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  const worker = async () => {
    for (let next = iterator.next(); !next.done && !signal?.aborted; next = iterator.next())
      await work(next.value);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
