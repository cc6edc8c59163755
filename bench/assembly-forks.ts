import * as wire from "../src/contract/gen/quire/v1/assembly_service.js";
import {
  ForkSessionRequest,
  LedgerServiceService,
  RecordTurnRequest,
  RecordTurnResponse,
} from "../src/contract/gen/quire/v1/ledger_service.js";
import { OnHeadMoved } from "../src/domain/session.js";
import { encoded, type WireClient } from "./assembly-client.js";
import { turnMessages } from "./assembly-conversation.js";
import { contextRequest } from "./assembly-fixture.js";

/** Sessions that go on from the end of one thread, each with a caller who holds its last context. */
export class GrowingForks {
  private readonly heads: string[] = [];
  private readonly held: wire.HeldContext[] = [];
  private turn = 0;

  constructor(
    private readonly service: WireClient,
    private readonly length: number,
    private readonly count: number,
    private readonly budget: number,
  ) {}

  async fork(): Promise<void> {
    for (let at = 0; at < this.count; at++) {
      await this.service.unary(
        LedgerServiceService.forkSession.path,
        encoded(ForkSessionRequest, { session: String(this.length), label: this.label(at) }),
      );
      this.held.push(wire.HeldContext.create());
      await this.assemble(at);
    }
  }

  /** One more turn in each, the same in all. */
  async grow(): Promise<void> {
    this.turn++;
    for (let at = 0; at < this.count; at++) {
      const request = encoded(RecordTurnRequest, {
        session: this.label(at),
        parentTurnId: this.heads[at]!,
        onHeadMoved: OnHeadMoved.FAIL,
        messages: turnMessages(1_000_000 + this.turn),
      });
      this.heads[at] = RecordTurnResponse.decode(
        await this.service.unary(LedgerServiceService.recordTurn.path, request),
      ).headTurnId;
    }
  }

  /** The bytes of a delta assembly; its caller holds the new context afterwards. */
  async assemble(at: number): Promise<number> {
    const have = this.held[at]!;
    const context = { ...contextRequest(this.label(at), this.budget), have };
    const responses = await this.service.stream(
      wire.AssemblyServiceService.assemble.path,
      encoded(wire.AssembleRequest, { context }),
    );
    const next: { -readonly [Key in keyof wire.HeldContext]: wire.HeldContext[Key] } = { ...have };
    for (const { event } of responses.map((bytes) => wire.AssembleResponse.decode(bytes))) {
      if (event?.$case === "tools") next.toolsHash = event.value.hash;
      else if (event?.$case === "system") next.systemHash = event.value.hash;
      else if (event?.$case === "history" && event.value.layer) {
        const { cutId, chainHash, lastTurnId } = event.value.layer;
        Object.assign(next, { cutId, chainHash, lastTurnId });
        this.heads[at] = lastTurnId;
      }
    }
    this.held[at] = next;
    return responses.reduce((sum, response) => sum + response.length, 0);
  }

  private label(at: number): string {
    return `delta-${this.length}-${at}`;
  }
}
