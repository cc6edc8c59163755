import { createRequire } from "node:module";
import { expect, test, vi } from "vitest";
import { explicitSslMode } from "../../../src/storage/driver/explicit-ssl-mode.js";

const { parse } = createRequire(import.meta.url)("pg-connection-string") as {
  parse(url: string): { readonly ssl?: unknown };
};

test.each([
  "prefer",
  "require",
  "verify-ca",
  "verify-full",
])("ssl: %s means what the driver takes it for, and the driver says nothing about it", (mode) => {
  const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  const url = `postgresql://u:p%3Fsslmode@h/d?application_name=a&sslmode=${mode}&connect_timeout=3`;
  const explicit = parse(explicitSslMode(url));
  expect(warned).not.toHaveBeenCalled();
  expect(explicit.ssl).toEqual(parse(url).ssl);
  warned.mockRestore();
});

test("ssl: what is said in libpq's way, and what needs no word, stays", () => {
  for (const rest of ["", "?sslmode=disable", "?sslmode=no-verify", "?uselibpqcompat=true&sslmode=require"])
    expect(explicitSslMode(`postgresql://u@h/d${rest}`)).toBe(`postgresql://u@h/d${rest}`);
});
