import { describe, expect, it } from "vitest";
import { openParity } from "../../support/parity/open.js";
import { operations } from "../../support/parity/operations.js";
import { readable } from "../../support/parity/readable.js";

describe("parity: the client works as with Prisma's own SQLite adapter", () => {
  it.each(operations)("$name", async ({ run, gives, fails }) => {
    const { client } = await openParity();
    const outcome = run(client);
    if (fails === undefined) {
      expect(readable(await outcome)).toEqual(gives);
      return;
    }
    const { code, cause = {} } = fails;
    await expect(outcome).rejects.toMatchObject({
      code,
      ...(fails.cause === undefined ? {} : { meta: { driverAdapterError: { cause } } }),
    });
  });
});
