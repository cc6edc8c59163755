import { writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  CreateSessionRequest,
  RecordTurnRequest,
  type RecordTurnResponse,
} from "../../../src/contract/gen/quire/v1/ledger_service.js";
import { assistant, toolCalls, toolResults, user } from "../../support/messages.js";
import { call, type TestServer } from "../../support/server.js";
import { runCli } from "./run-cli.js";

export const capsuleBody = {
  persona: { corePrompt: "You are a helper.", model: { model: "gpt-4o", provider: "openai" } },
};

/** A capsule and a session of one name, with so many turns, each with a tool call. */
export async function seedAgent(
  server: TestServer,
  name: string,
  turns: number,
  body: object = capsuleBody,
): Promise<void> {
  await putCapsule(server, name, body);
  const { ledger } = server;
  await call(ledger, ledger.createSession, CreateSessionRequest.fromPartial({ label: name }));
  let parentTurnId = "";
  for (let turn = 1; turn <= turns; turn++) {
    const messages = [
      user(`question ${turn}`),
      toolCalls(`c${turn}`),
      toolResults(`c${turn}`),
      assistant(`answer ${turn}`),
    ];
    const request = RecordTurnRequest.fromPartial({ session: name, parentTurnId, messages });
    const recorded = await call<RecordTurnRequest, RecordTurnResponse>(ledger, ledger.recordTurn, request);
    parentTurnId = recorded.turn!.id;
  }
}

export async function putCapsule(server: TestServer, name: string, body: object): Promise<void> {
  const file = join(server.folder, `${name}.json`);
  writeFileSync(file, JSON.stringify(body));
  const { code, err } = await runCli("capsule", "put", name, file, "--address", server.address);
  if (code !== 0) throw new Error(err);
}
