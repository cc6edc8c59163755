import { join } from "node:path";
import { Metadata } from "@grpc/grpc-js";
import { expect, onTestFinished, test } from "vitest";
import { MessageRole } from "../../src/contract/gen/quire/v1/message.js";
import { TurnStatus } from "../../src/contract/gen/quire/v1/turn.js";
import { openDatabase } from "../../src/storage/driver/database-sync.js";
import { ledgerCalls } from "../ledger/ledger-calls.js";
import { approvalPart, asksFor, callPart, said, textPart } from "../ledger/message-parts.js";
import { user } from "../support/messages.js";
import { failure, startTestServer } from "../support/server.js";
import { CapturedLog } from "./captured-log.js";

const marker = "S3CR3T";

test("logs: a whole conversation, its errors and a fault leave nothing of its content in the log", async () => {
  const log = new CapturedLog();
  const server = await startTestServer({ logLevel: "debug" }, log.logger);
  onTestFinished(() => server.stop());
  const ledger = ledgerCalls(server.ledger);
  const tags = { [`${marker} key`]: `${marker} value` };
  const label = `${marker} label`;
  await ledger.session({
    label,
    requestId: `${marker} request`,
    workspacePath: `/${marker}`,
    metadata: tags,
  });
  await ledger.aliasSession({ alias: `${marker} alias`, session: label });
  const begun = await ledger.beginTurn({
    session: label,
    details: { model: marker, toolset: marker, metadata: tags, permissionsGranted: [marker] },
    messages: [
      { ...user(`${marker} words`), contextParts: [textPart(marker)], contextJson: `{"${marker}": 1}` },
    ],
  });
  const turnId = begun.turn!.id;
  const call = { callId: marker, name: marker, argumentsJson: `{"${marker}": true}`, signature: marker };
  await ledger.appendMessages({
    turnId,
    messages: [
      asksFor({ content: { $case: "toolCall", value: call } }, approvalPart(`${marker} approval`, marker)),
      said(MessageRole.TOOL, {
        content: {
          $case: "toolResult",
          value: {
            callId: marker,
            content: [{ content: { $case: "text", value: { text: marker } } }],
            isError: true,
          },
        },
      }),
    ],
  });
  await ledger.completeTurn({
    turnId,
    result: { stopReason: marker, error: marker, permissionsUsed: [marker] },
  });
  await ledger.turn(label, turnId, [user(marker)], {
    status: TurnStatus.FAILED,
    result: { error: `${marker} error` },
  });
  await ledger.updateSession({ session: label, setMetadata: { more: marker } });
  await ledger.forkSession({ session: label, label: `${marker} fork` });
  await ledger.history({ thread: { $case: "session", value: label } });
  await ledger.listSessions({ labelPrefix: marker });
  await ledger.listTurns({ session: label });
  await ledger.getTurn({ turnId });

  const refused = [
    ledger.getSession({ session: `${marker} nobody` }),
    ledger.session({ label }),
    ledger.session({ label: marker.repeat(100), metadata: { [marker.repeat(100)]: marker } }),
    ledger.unaliasSession({ alias: `${marker} nothing` }),
    ledger.listTurns({ session: label, pageToken: marker }),
    ledger.turn(label, turnId, [user("x"), asksFor(callPart(marker))]),
    ledger.turn(label, turnId, [{ ...user(marker), contextJson: `${marker} is no JSON` }]),
    ledger.session({ label: `${marker} other`, requestId: `${marker} request` }),
    sendBytes(Buffer.from(`\xff\xff${marker}`, "latin1")),
  ];
  const errors = await Promise.all(refused.map(failure));
  expect(errors.map((error) => error.reason)).not.toContain("INTERNAL");

  // Rows that no version of Quire writes, each with content where JSON or a message should be.
  const database = openDatabase(join(server.folder, "quire.db"));
  onTestFinished(() => database.close());
  const faults: readonly (readonly [string, () => Promise<unknown>])[] = [
    [`UPDATE turns SET metadata_json = '${marker} no JSON'`, () => ledger.getTurn({ turnId })],
    [
      `UPDATE turns SET open_state_json = '{"open": "${marker}"'`,
      () => ledger.turn(label, turnId, [user("x")]),
    ],
    [
      `UPDATE turns SET open_state_json = '{"open": [{"${marker}"}]}'`,
      () => ledger.turn(label, turnId, [user("x")]),
    ],
    [`UPDATE sessions SET metadata_json = '{"${marker}'`, () => ledger.getSession({ session: label })],
    [
      `UPDATE sessions SET metadata_json = '{"${marker}'`,
      () => ledger.updateSession({ session: label, setMetadata: tags }),
    ],
    [`UPDATE sessions SET head_depth = '${marker}'`, () => ledger.getSession({ session: label })],
    [
      `UPDATE sessions SET created_us = '${marker}'`,
      () => ledger.updateSession({ session: label, label: `${marker} new` }),
    ],
  ];
  for (const [sql, act] of faults) {
    database.exec(sql);
    const error = await failure(act());
    expect([error.reason, error.message], sql).toEqual([
      "INTERNAL",
      `internal error; incident ${error.metadata.incident}`,
    ]);
    expect(
      log.lines.some((line) => line.incident === error.metadata.incident && line.cause?.stack),
      sql,
    ).toBe(true);
  }
  expect(log.lines.filter((line) => line.msg === "call done").length).toBeGreaterThan(10);
  expect(log.lines.filter((line) => line.msg === "call refused").length).toBe(refused.length);
  expect(log.text.filter((line) => line.includes(marker))).toEqual([]);

  function sendBytes(bytes: Buffer): Promise<unknown> {
    const identity = (value: Buffer) => value;
    return new Promise((resolve, reject) => {
      const path = "/quire.v1.LedgerService/RecordTurn";
      server.ledger.makeUnaryRequest(path, identity, identity, bytes, new Metadata(), {}, (error, answer) =>
        error ? reject(error) : resolve(answer),
      );
    });
  }
});
