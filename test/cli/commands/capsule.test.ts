import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../support/server.js";
import { tempFolder } from "../../support/temp-folder.js";
import { jsonLines, runCli, spawnCli } from "../support/run-cli.js";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});

afterAll(() => server?.stop());

const capsule = (...args: readonly string[]) => runCli("capsule", ...args, "--address", server.address);

function fileOf(content: unknown): string {
  const file = join(tempFolder(), "capsule.json");
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

const body = (corePrompt: string) => ({ persona: { corePrompt, knobs: { intelligenceLevel: 7 } } });

describe("quire capsule", () => {
  it("puts versions, and shows each of them in the form that put takes", async () => {
    expect(await capsule("put", "helper", fileOf(body("one")))).toMatchObject({
      code: 0,
      out: "capsule helper: version 1\n",
    });
    const [second] = jsonLines((await capsule("put", "helper", fileOf(body("two")), "--json")).out);
    expect(second).toMatchObject({ name: "helper", version: 2, cause: "CAPSULE_CAUSE_PUT" });
    const latest = await capsule("show", "helper");
    expect(JSON.parse(latest.out)).toEqual(body("two"));
    expect(latest.err).toMatch(/^capsule helper, version 2, put at \d{4}-/);
    expect(await capsule("put", "copy", fileOf(latest.out))).toMatchObject({ code: 0 });
  });

  it("keeps capabilities that are none apart from those that are not given", async () => {
    const none = { persona: { corePrompt: "one", enabledCapabilities: { names: [] } } };
    await capsule("put", "none", fileOf(none));
    const { persona } = JSON.parse((await capsule("show", "none")).out) as typeof none;
    expect(persona.enabledCapabilities).toBeDefined();
    await capsule("put", "all", fileOf(body("one")));
    expect(JSON.parse((await capsule("show", "all")).out)).toEqual(body("one"));
  });

  it("shows an earlier version, as a process, too", async () => {
    await capsule("put", "old", fileOf(body("one")));
    await capsule("put", "old", fileOf(body("two")));
    const args = ["capsule", "show", "old", "--version", "1", "--address", server.address];
    const { code, out } = await spawnCli(...args).done;
    expect({ code, body: JSON.parse(out) }).toEqual({ code: 0, body: body("one") });
  });

  it("lists capsules", async () => {
    await capsule("put", "listed", fileOf(body("one")));
    expect((await capsule("list")).out).toMatch(/^listed +1 +- +7 +put +\d{4}-/m);
    expect(jsonLines((await capsule("list", "--json")).out)).toContainEqual(
      expect.objectContaining({ name: "listed", version: 1 }),
    );
    expect((await capsule("list", "--limit", "1")).err).toContain("there are more");
  });

  it("fails with what is wrong", async () => {
    const unreadable = await capsule("put", "bad", join(tempFolder(), "none.json"));
    expect(unreadable).toMatchObject({ code: 1, err: expect.stringContaining("cannot be read as JSON") });
    const noJson = await capsule("put", "bad", fileOf("{"));
    expect(noJson).toMatchObject({ code: 1, err: expect.stringContaining("cannot be read as JSON") });
    const unknown = await capsule("put", "bad", fileOf({ person: {} }));
    expect(unknown).toMatchObject({ code: 1, err: expect.stringContaining("this is no CapsuleBody") });
    const empty = await capsule("put", "bad", fileOf({ persona: {} }), "--json");
    const [line] = jsonLines<{ error: { reason: string } }>(empty.err);
    expect(line!.error).toMatchObject({ reason: "INVALID_FIELD" });
    expect(await capsule("show", "bad")).toMatchObject({
      code: 1,
      err: expect.stringContaining("CAPSULE_NOT_FOUND"),
    });
    expect(await capsule("show", "bad", "--version", "x")).toMatchObject({ code: 2 });
  });
});
