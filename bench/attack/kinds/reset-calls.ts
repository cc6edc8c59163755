import { constants } from "node:http2";
import { setImmediate as tick } from "node:timers/promises";
import {
  LedgerServiceService,
  ListSessionsRequest,
} from "../../../src/contract/gen/quire/v1/ledger_service.js";
import { encoded } from "../../assembly-client.js";
import type { Attack } from "../attack.js";
import { prefix, RawConnection } from "../raw-connection.js";

const calls = 40_000;
const perTick = 200;
const connections = 4;
/** A connection that the server closes is opened again, so often. */
const maxConnections = 40;

/** Calls that are opened, sent whole and reset at once. */
export const resetCalls: Attack = {
  async prepare(target) {
    await target.sessions(60);
    const { path } = LedgerServiceService.listSessions;
    const body = encoded(ListSessionsRequest, { pageSize: 50 });
    const message = Buffer.concat([prefix([body]), body]);
    let opened = 0;
    const connect = () => {
      opened++;
      return new RawConnection(target.address, target.tally);
    };
    return async (signal) => {
      const all = Array.from({ length: connections }, connect);
      for (let sent = 0; sent < calls && !signal.aborted; sent += perTick) {
        const at = (sent / perTick) % connections;
        if (all[at]!.isClosed) {
          target.caller.note("connection closed");
          if (opened >= maxConnections) break;
          all[at] = connect();
        }
        const streams = [];
        for (let more = 0; more < perTick && !all[at]!.isClosed; more++) {
          const stream = all[at]!.open(path);
          stream.end(message);
          streams.push(stream);
        }
        await tick();
        for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL);
        target.caller.note("reset", streams.length);
        await tick();
      }
      for (const connection of all) connection.close();
    };
  },
};
