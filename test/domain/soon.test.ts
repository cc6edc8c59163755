import { describe, expect, it } from "vitest";
import { together } from "../../src/domain/soon.js";

describe("together", () => {
  it("gives what is there at once, and a promise where one of them is to be waited for", async () => {
    expect(
      together(
        () => 1,
        () => "a",
      ),
    ).toEqual([1, "a"]);
    const found = together(
      () => 1,
      async () => "a",
    );
    expect(found).toBeInstanceOf(Promise);
    expect(await found).toEqual([1, "a"]);
  });

  it("fails with the first failure, whether it was thrown at once or later, and begins all of them", async () => {
    const begun: number[] = [];
    const failing = together(
      async () => {
        begun.push(1);
        throw new Error("later");
      },
      () => {
        begun.push(2);
        throw new Error("at once");
      },
      () => begun.push(3),
    );
    await expect(failing).rejects.toThrow();
    expect(begun).toEqual([1, 2, 3]);
  });
});
