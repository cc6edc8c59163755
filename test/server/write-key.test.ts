import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { services } from "../../src/contract/services.js";
import { type Method, methodsOf } from "../../src/server/method.js";
import { isSetByServer } from "../../src/server/set-by-server.js";
import { isWrite, requestHash } from "../../src/server/write-key.js";

const writes = Object.values(services)
  .flatMap((service) => Object.values<Method>(methodsOf(service)))
  .filter((method) => isWrite(method))
  .map((method) => [method.name, method] as const);

/** The way from a request down to a field. */
type Path = readonly DescField[];

const isOurs = (type: DescMessage) => type.file.proto.package === "quire.v1";

/** Every field of a message and of the messages in it. */
function pathsIn(type: DescMessage, way: Path = []): readonly Path[] {
  return type.fields.flatMap((field) => {
    const path = [...way, field];
    return field.message && isOurs(field.message) ? [path, ...pathsIn(field.message, path)] : [path];
  });
}

/** A message with nothing in it but what the path leads to. A map at its end has the given keys, in this order. */
function holding([field, ...rest]: Path, keys: readonly string[]): object {
  if (!field) return {};
  const { localName, oneof } = field as DescField & { readonly oneof?: { readonly localName: string } };
  const value = contentOf(field, rest, keys);
  return oneof ? { [oneof.localName]: { $case: localName, value } } : { [localName]: value };
}

function contentOf(field: DescField, rest: Path, keys: readonly string[]): unknown {
  if (field.fieldKind === "map") return Object.fromEntries(keys.map((key) => [key, `of ${key}`]));
  const one = field.message ? messageOf(field.message, rest, keys) : singleOf(field);
  return field.fieldKind === "list" ? [one] : one;
}

function messageOf(type: DescMessage, rest: Path, keys: readonly string[]): unknown {
  return type.typeName === "google.protobuf.Timestamp" ? new Date(1_000) : holding(rest, keys);
}

function singleOf({ enum: type, scalar }: DescField): unknown {
  if (type) return type.values[1]!.name;
  if (scalar === ScalarType.STRING) return "x";
  if (scalar === ScalarType.BYTES) return Buffer.from("x");
  return scalar === ScalarType.BOOL ? true : 1;
}

function hashOf(method: Method, path: Path, keys: readonly string[] = ["a"]): string {
  const request = method.requestType.fromPartial(holding(path, keys)) as object;
  return requestHash(method, request).toString("hex");
}

const shown = (paths: readonly Path[]) => paths.map((path) => path.map(({ name }) => name).join("."));

describe.each(writes)("the key of %s", (_, method) => {
  const paths = pathsIn(method.input);

  test("tells requests apart by every field, except what only the server sets", () => {
    const ignored = paths.filter((path) => hashOf(method, path) === hashOf(method, path.slice(0, -1)));
    expect(shown(ignored)).toEqual(shown(paths.filter((path) => path.some(isSetByServer))));
  });

  test("does not depend on the order of any map", () => {
    const maps = paths.filter((path) => path.at(-1)!.fieldKind === "map");
    const apart = maps.filter(
      (path) => hashOf(method, path, ["a", "b"]) !== hashOf(method, path, ["b", "a"]),
    );
    expect(shown(apart)).toEqual([]);
  });
});

test("the contract has the methods, maps and fields that these rules are about", () => {
  const all = writes.flatMap(([, method]) => pathsIn(method.input));
  const ends = shown(all.filter((path) => path.at(-1)!.fieldKind === "map"));
  expect(writes).toHaveLength(39);
  expect(ends).toEqual(expect.arrayContaining(["set_metadata", "messages.injected.event.metadata"]));
  expect(shown(all.filter((path) => path.some(isSetByServer)))).toEqual(
    expect.arrayContaining(["messages.id", "result.calls", "result.messages.index", "toolset.version"]),
  );
});
