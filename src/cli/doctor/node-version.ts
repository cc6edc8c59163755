import { type Check, fail, ok } from "./check.js";

const needed = [20, 19] as const;

export function checkNode(version: string): Check {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const enough = major > needed[0] || (major === needed[0] && minor >= needed[1]);
  return enough
    ? ok("Node", version)
    : fail("Node", version, `Quire needs Node ${needed.join(".")} or later: https://nodejs.org`);
}
