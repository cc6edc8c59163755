import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CapsuleBody, CapsuleCause } from "../../src/contract/gen/quire/v1/capsule.js";
import { sha256 } from "../../src/domain/hash.js";
import { failure, startTestServer, type TestServer } from "../support/server.js";
import { body, type CapsuleCalls, connectCapsules, learner } from "./capsule-calls.js";

let server: TestServer;
let capsules: CapsuleCalls;

beforeAll(async () => {
  server = await startTestServer();
  capsules = connectCapsules(server.address);
});

afterAll(async () => {
  capsules?.close();
  await server?.stop();
});

describe("capsules over the wire", () => {
  test("a put makes a new version under the same id, and leaves the others as they were", async () => {
    const { capsule: first } = await capsules.putCapsule({
      name: "versions",
      body: body({ corePrompt: "one" }),
    });
    const { capsule: second } = await capsules.putCapsule({
      name: "versions",
      body: body({ corePrompt: "two" }),
    });
    expect(first).toMatchObject({ name: "versions", version: 1, cause: CapsuleCause.PUT });
    expect(second).toMatchObject({ id: first!.id, version: 2 });
    expect(await capsules.getCapsule({ name: "versions", version: 1 })).toEqual({ capsule: first });
    expect(await capsules.getCapsule({ name: "versions" })).toEqual({ capsule: second });
  });

  test("a body comes back as it was put, and its hash is that of its bytes", async () => {
    const full = CapsuleBody.create({
      persona: {
        corePrompt: "You are Atlas.\n\u0000é\u{1f9ed}",
        injectionPrompts: [{ trigger: "start", content: "Be brief." }],
        knobs: { intelligenceLevel: 11, autonomyLevel: -3 },
        memory: { recallLimit: 0, similarityThreshold: 0.5 },
        enabledCapabilities: { names: ["search"] },
        model: {
          model: "gpt-5",
          provider: "openai",
          temperature: 0,
          thinking: { enabled: true, effort: "high" },
        },
      },
      learned: { lanePreferences: { system: 0, history: 1 }, outcomes: 4 },
      governance: { deniedCapabilities: ["shell"] },
      settings: { includeSchemas: false, modelLimits: [{ model: "gpt-5", historyTokens: 5 }] },
    });
    const { capsule } = await capsules.putCapsule({ name: "full", body: full });
    expect(capsule!.body).toEqual(full);
    expect(capsule!.hash).toEqual(sha256(CapsuleBody.encode(full).finish()));
    const { capsule: same } = await capsules.putCapsule({ name: "full", body: full });
    expect(same!.hash).toEqual(capsule!.hash);
  });

  test("the same request gives the stored answer, and makes no second version", async () => {
    const request = { requestId: "put-1", name: "again", body: body() };
    const answer = await capsules.putCapsule(request);
    expect(await capsules.putCapsule(request)).toEqual(answer);
    const { capsules: versions } = await capsules.listCapsuleVersions({ name: "again" });
    expect(versions).toHaveLength(1);
    const reused = await failure(capsules.putCapsule({ ...request, body: body({ corePrompt: "another" }) }));
    expect(reused.reason).toBe("REQUEST_ID_REUSED");
  });

  test("concurrent puts each make a version of their own", async () => {
    const puts = Array.from({ length: 12 }, () => capsules.putCapsule({ name: "crowd", body: body() }));
    const versions = (await Promise.all(puts)).map(({ capsule }) => capsule!.version);
    expect(versions.sort((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, index) => index + 1));
  });

  test("of concurrent puts that expect the same version, one wins", async () => {
    await capsules.putCapsule({ name: "race", body: body(), expectedVersion: 0 });
    const puts = Array.from({ length: 8 }, () =>
      capsules.putCapsule({ name: "race", body: body(), expectedVersion: 1 }).then(
        () => "won",
        () => "lost",
      ),
    );
    expect((await Promise.all(puts)).filter((end) => end === "won")).toHaveLength(1);
    expect((await capsules.getCapsule({ name: "race" })).capsule!.version).toBe(2);
  });

  test("versions are listed the newest first, a page at a time", async () => {
    for (let index = 0; index < 5; index++) await capsules.putCapsule({ name: "paged", body: body() });
    const first = await capsules.listCapsuleVersions({ name: "paged", pageSize: 3 });
    const pageToken = first.nextPageToken;
    const second = await capsules.listCapsuleVersions({ name: "paged", pageSize: 3, pageToken });
    expect(first.capsules.map(({ version }) => version)).toEqual([5, 4, 3]);
    expect(second.capsules.map(({ version }) => version)).toEqual([2, 1]);
    expect(second.nextPageToken).toBe("");
  });

  test("capsules are listed by name, each in its latest version, and pages of large ones are short", async () => {
    const corePrompt = "x".repeat(1_000_000);
    for (const name of ["z1", "z3", "z2", "z4"])
      await capsules.putCapsule({ name, body: body({ corePrompt }) });
    await capsules.putCapsule({ name: "z4", body: body() });
    const listed: string[] = [];
    let pageToken = "";
    let pages = 0;
    do {
      const page = await capsules.listCapsules({ pageSize: 100, pageToken });
      listed.push(...page.capsules.map(({ name, version }) => `${name} ${version}`));
      pageToken = page.nextPageToken;
      pages += 1;
    } while (pageToken !== "");
    expect(listed.filter((entry) => entry.startsWith("z"))).toEqual(["z1 1", "z2 1", "z3 1", "z4 2"]);
    expect(listed).toEqual([...listed].sort());
    expect(pages).toBeGreaterThan(1);
  });

  test("a deleted capsule is gone with all its versions, and its name starts again at version 1", async () => {
    const put = { requestId: "put-gone", name: "gone", body: body() };
    const { capsule: before } = await capsules.putCapsule(put);
    await capsules.putCapsule({ name: "gone", body: body() });
    const deletion = { requestId: "delete-gone", name: "gone" };
    expect(await capsules.deleteCapsule(deletion)).toEqual({ deletedVersions: 2 });
    expect(await capsules.deleteCapsule(deletion)).toEqual({ deletedVersions: 2 });
    expect((await failure(capsules.getCapsule({ name: "gone", version: 1 }))).reason).toBe(
      "CAPSULE_NOT_FOUND",
    );
    const { capsule: after } = await capsules.putCapsule(put);
    expect(after!.version).toBe(1);
    expect(after!.id).not.toBe(before!.id);
  });

  test("an outcome moves the lanes from those in force toward what was needed, as a new version", async () => {
    await capsules.putCapsule({ name: "pupil", body: learner() });
    const outcome = { capsule: "pupil", needed: { history: 9_000, system: 1_000 }, score: 1 };
    const { capsule } = await capsules.recordOutcome({ requestId: "o-1", ...outcome });
    expect(capsule).toMatchObject({ version: 2, cause: CapsuleCause.LEARNED });
    expect(capsule!.body!.persona).toEqual(learner().persona);
    expect(capsule!.body!.learned!.outcomes).toBe(1);
    const { history, tools } = capsule!.body!.learned!.lanePreferences!;
    expect(history).toBeGreaterThan(0.3);
    expect(history).toBeLessThan(0.35);
    expect(tools).toBeLessThan(0.2);
    expect(await capsules.recordOutcome({ requestId: "o-1", ...outcome })).toEqual({ capsule });
    const { capsule: next } = await capsules.recordOutcome(outcome);
    expect(next!.body!.learned!.outcomes).toBe(2);
    expect(next!.body!.learned!.lanePreferences!.history).toBeGreaterThan(history);
  });

  test("an outcome with score 0 is counted, and teaches nothing", async () => {
    await capsules.putCapsule({ name: "unmoved", body: learner() });
    const { capsule } = await capsules.recordOutcome({
      capsule: "unmoved",
      needed: { history: 1 },
      score: 0,
    });
    expect(capsule!.body!.learned).toEqual({ lanePreferences: undefined, outcomes: 1 });
  });

  test("a put without what was learned starts with nothing learned", async () => {
    await capsules.putCapsule({ name: "forgetful", body: learner() });
    await capsules.recordOutcome({ capsule: "forgetful", needed: { history: 1 }, score: 1 });
    const { capsule } = await capsules.putCapsule({ name: "forgetful", body: learner() });
    expect(capsule!.body!.learned).toBeUndefined();
  });
});
