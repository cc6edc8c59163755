import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { WatchedTexts } from "../../src/workspace/watched-texts.js";
import { handTimers } from "../support/hand-timers.js";
import { tempFolder } from "../support/temp-folder.js";

function watched() {
  const path = join(tempFolder(), "prime.md");
  const timers = handTimers();
  const texts = new WatchedTexts(() => [path], { maxBytes: 1_000, timers });
  const textOf = async () => (await texts.read()).texts.get(path);
  /** Lets so many moments pass while a text is read. */
  const passing = async (moments: number, reading: Promise<unknown>) => {
    for (let moment = 0; moment < moments; moment++) {
      await timers.set(1);
      timers.runOutNext();
    }
    return reading;
  };
  return { path, timers, textOf, passing };
}

describe("a file that is watched", () => {
  test("is read when it has been still for a moment: never half written", async () => {
    const { path, timers, textOf, passing } = watched();
    writeFileSync(path, "the first text");
    expect(await passing(1, textOf())).toBe("the first text");

    writeFileSync(path, "");
    const reading = textOf();
    await timers.set(1);
    writeFileSync(path, "half of the sec");
    timers.runOutNext();
    await timers.set(1);
    writeFileSync(path, "half of the second text");
    timers.runOutNext();
    expect(await passing(1, reading)).toBe("half of the second text");
  });

  test("is waited for once by all who ask, and by nobody when it did not change", async () => {
    const { path, textOf, passing } = watched();
    writeFileSync(path, "text");
    const readings = [textOf(), textOf(), textOf()];
    expect(await passing(1, Promise.all(readings))).toEqual(["text", "text", "text"]);
    expect(await textOf()).toBe("text");
  });

  test("may be replaced by a rename", async () => {
    const { path, textOf, passing } = watched();
    writeFileSync(path, "old");
    expect(await passing(1, textOf())).toBe("old");
    writeFileSync(`${path}.new`, "new");
    renameSync(`${path}.new`, path);
    expect(await passing(1, textOf())).toBe("new");
  });

  test("that never stands still leaves the text before in force", async () => {
    const { path, timers, textOf, passing } = watched();
    writeFileSync(path, "good");
    expect(await passing(1, textOf())).toBe("good");
    writeFileSync(path, "moving");
    const reading = textOf();
    for (let moment = 0; moment < 24; moment++) {
      await timers.set(1);
      writeFileSync(path, "moving ".repeat(moment + 2));
      timers.runOutNext();
    }
    expect(await reading).toBe("good");
  });
});
