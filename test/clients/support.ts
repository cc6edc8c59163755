import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type Quire } from "quire-client";
import { onTestFinished } from "vitest";
import { anthropicApi } from "../../examples/provider/anthropic.js";
import { type FakeProvider, startProviders } from "../../examples/provider/provider.js";
import { obedientScript } from "../../examples/provider/script.js";
import { startTestServer, type TestServer } from "../support/server.js";

export interface Served {
  readonly server: TestServer;
  readonly quire: Quire;
}

/** A real server, and the client package connected to it. */
export async function servedQuire(): Promise<Served> {
  const server = await startTestServer();
  const quire = connect(server.address);
  onTestFinished(async () => {
    quire.close();
    await server.stop();
  });
  await quire.capsules.putCapsule({
    name: "atlas",
    body: {
      persona: {
        corePrompt: "You are Atlas.",
        memory: { tools: true },
        model: { model: "claude-sonnet-5-5" },
      },
    },
  });
  return { server, quire };
}

/** A stand-in for Anthropic that does what it is told. */
export async function standIn(): Promise<{ readonly provider: FakeProvider; readonly baseUrl: string }> {
  const [provider] = await startProviders([anthropicApi()], { script: obedientScript });
  onTestFinished(() => provider!.close());
  return { provider: provider!, baseUrl: new URL(provider!.url).origin };
}

export function socketFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "quire-client-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
