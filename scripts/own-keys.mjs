// Makes the generated code keep every key of a map: `map["__proto__"] = value` sets a prototype, and drops what is no object.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const folder = join(process.argv[2] ?? ".", "src", "contract", "gen");
const own = (map, key, value) =>
  `globalThis.Object.defineProperty(${map}, ${key}, { value: ${value}, writable: true, enumerable: true, configurable: true });`;

for (const name of readdirSync(folder, { recursive: true })) {
  if (!name.endsWith(".ts")) continue;
  const path = join(folder, name);
  const text = readFileSync(path, "utf8");
  const maps = text.match(/_\w+Entry\.decode\(reader/g)?.length ?? 0;
  let changes = 0;
  const change = (map, key, value) => {
    changes++;
    return own(map, key, value);
  };
  const safe = text
    .replace(/(message\.\w+)\[(entry\d+\.key)\] = (entry\d+\.value);/g, (_, map, key, value) =>
      change(map, key, value),
    )
    .replace(/(acc)\[(key)\] = (globalThis\.String\(value\));/g, (_, map, key, value) =>
      change(map, key, value),
    );
  if (changes !== 2 * maps)
    throw new Error(`${path}: ${maps} maps, but ${changes} places that write to them`);
  if (changes > 0) writeFileSync(path, safe);
}
