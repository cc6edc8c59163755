import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packageRoot } from "../../src/config/package-root.js";
import type { ContextRequest } from "../../src/contract/gen/quire/v1/assembly_service.js";
import { BudgetPolicy } from "../../src/contract/gen/quire/v1/context_settings.js";
import type { DeepPartial } from "../../src/contract/gen/quire/v1/message.js";
import { AgentRole } from "../../src/contract/gen/quire/v1/origin.js";
import { QuireError } from "../../src/index.js";
import { openTestQuire, type TestQuire } from "./engine.js";
import { deskRequest, putCapsule, setUpTravelDesk } from "./travel-desk.js";

/** `UPDATE_GOLDEN=1` writes the files anew; what changed is then in the diff. */
const isUpdate = process.env.UPDATE_GOLDEN === "1";

let quire: TestQuire;

beforeAll(async () => {
  quire = await openTestQuire();
  await setUpTravelDesk(quire);
  await putCapsule(quire, "atlas");
  for (const level of [2, 9]) await putCapsule(quire, `atlas-${level}`, {}, level);
  for (const level of [2, 5, 9]) {
    const lanePreferences = { system: 0.25, history: 0.25, memory: 0.1, tools: 0.3, buffer: 0.1 };
    await putCapsule(quire, `learned-${level}`, { learned: { lanePreferences, outcomes: 12 } }, level);
  }
});

afterAll(() => quire.close());

/** The context and what its receipt says beside it, without what differs from run to run. */
async function contextAndReceipt(request: DeepPartial<ContextRequest>): Promise<string> {
  const { context } = await quire.assembly.buildContext({
    context: { capsule: "atlas", ...deskRequest, ...request },
  });
  const { receipt } = await quire.assembly.getReceipt({ assemblyId: context!.assemblyId });
  const { candidates, inputs, floors, layerBytes } = receipt!;
  return redacted({ context, receipt: { candidates, inputs, floors, layerBytes } });
}

function redacted(value: unknown): string {
  const ids = new Map<string, string>();
  const idOf = (id: string) => {
    if (!ids.has(id)) ids.set(id, `<id ${ids.size + 1}>`);
    return ids.get(id)!;
  };
  const replacer = (name: string, entry: unknown) => {
    // Where there are no sources, nothing is said of them; nor of messages that prompted nothing.
    if ((name === "sources" || name === "leadMessages") && Array.isArray(entry) && entry.length === 0)
      return undefined;
    if (name === "prompted" && entry === false) return undefined;
    const bytes = (entry as { readonly type?: string; readonly data?: readonly number[] } | null) ?? {};
    return bytes.type === "Buffer" && bytes.data ? `<${bytes.data.length} bytes>` : entry;
  };
  const text = JSON.stringify(value, replacer, 2);
  return `${text.replace(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, idOf)}\n`;
}

function expectGolden(name: string, text: string): void {
  const file = join(packageRoot, "test", "golden", "assembly", `${name}.json`);
  if (isUpdate) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  expect(text, `test/golden/assembly/${name}.json`).toBe(readFileSync(file, "utf8"));
}

describe("a context is as its golden file says", () => {
  const strict = { settings: { policy: BudgetPolicy.STRICT_TRUNCATE }, maxContextTokens: 500 };
  const cases: Readonly<Record<string, DeepPartial<ContextRequest>>> = {
    "role-manager": { role: AgentRole.MANAGER },
    "role-unified": { role: AgentRole.UNIFIED },
    "role-worker-with-task": {
      role: AgentRole.WORKER,
      task: "Find a room near the airport.",
      scope: { capabilities: ["hotels"] },
      permissionsGranted: ["booking.write"],
    },
    "intelligence-2": { capsule: "atlas-2" },
    "intelligence-5": { capsule: "atlas" },
    "intelligence-9": { capsule: "atlas-9" },
    "learned-lanes-2": { capsule: "learned-2" },
    "learned-lanes-5": { capsule: "learned-5" },
    "learned-lanes-9": { capsule: "learned-9" },
    "policy-elastic": { settings: { policy: BudgetPolicy.ELASTIC }, maxContextTokens: 600 },
    "policy-strict-truncate": strict,
  };

  test.each(Object.entries(cases))("%s", async (name, request) => {
    expectGolden(name, await contextAndReceipt(request));
  });

  test("policy-strict-fail: an error", async () => {
    const request = { ...strict, settings: { policy: BudgetPolicy.STRICT_FAIL } };
    const error = await contextAndReceipt(request).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(QuireError);
    const { reason, message, metadata } = error as QuireError;
    expectGolden("policy-strict-fail", `${JSON.stringify({ reason, message, metadata }, undefined, 2)}\n`);
  });
});
