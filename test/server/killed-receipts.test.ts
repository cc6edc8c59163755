import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { fold } from "../assembly/fold.js";
import { overGrpc } from "../assembly/over-grpc.js";
import { KillableServer } from "../long/support/killable-server.js";
import { assistant, user } from "../support/messages.js";

const startBoundMs = 120_000;
const kills = 3;

test("kill -9: a receipt is there once `completed` was sent, and the turn that names it is recorded without a warning", async () => {
  const folder = mkdtempSync(join(tmpdir(), "quire-killed-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  let server = new KillableServer(folder);
  onTestFinished(() => server.kill());
  await server.ready(startBoundMs);
  let quire = overGrpc(server.address);
  const persona = { corePrompt: "You are Atlas.", model: { model: "gpt-4o" } };
  await quire.capsules.putCapsule({ name: "atlas", body: { persona } });
  await quire.ledger.createSession({ label: "s" });
  let parentTurnId = "";
  for (let killed = 0; killed < kills; killed++) {
    const event = { content: [{ content: { $case: "text" as const, value: { text: "And now?" } } }] };
    const { completed } = await fold(
      quire.assembly.assemble({ context: { session: "s", capsule: "atlas", event } }),
    );
    await server.kill();
    await quire.close();
    server = new KillableServer(folder);
    await server.ready(startBoundMs);
    quire = overGrpc(server.address);
    const assemblyId = completed.assemblyId!;
    expect((await quire.assembly.getReceipt({ assemblyId })).receipt!.assemblyId).toBe(assemblyId);
    const messages = [user("And now?"), assistant(`${killed}`)];
    const recorded = await quire.ledger.recordTurn({ session: "s", parentTurnId, messages, assemblyId });
    expect(recorded.warnings).toEqual([]);
    expect(recorded.turn!.details!.model).toBe("gpt-4o");
    parentTurnId = recorded.turn!.id;
  }
  await quire.close();
});
