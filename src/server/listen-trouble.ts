import { lstatSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { systemWords } from "../config/system-words.js";

/** What a socket's address has room for; beyond that the system would cut the path, and listen on another one. */
const maxSocketPathBytes = process.platform === "darwin" ? 103 : 107;

/** Why a path cannot be a socket, whoever is asked to make it; undefined where it may be one. */
export function socketPathTrouble(path: string): string | undefined {
  if (Buffer.byteLength(path) <= maxSocketPathBytes) return undefined;
  return `the path has more than ${maxSocketPathBytes} bytes; choose a shorter one`;
}

/** Why an address cannot be listened on, from what grpc-js says: it has the system's error only as text. */
export function listenTrouble(address: string, said: string): string {
  const code = /\bE[A-Z]{3,}\b/.exec(said)?.[0] ?? "";
  const words = address.startsWith("unix:")
    ? socketTrouble(address.slice("unix:".length), code)
    : portTroubles[code];
  if (words !== undefined) return words;
  if (said.startsWith("Name resolution failed")) return "its name has no address; check how it is written";
  return systemWords({ code, message: said });
}

const portTroubles: Readonly<Record<string, string>> = {
  EADDRINUSE: "another process listens there; stop it, or choose another port",
  EADDRNOTAVAIL: "this machine has no such address; choose one that it has",
  EACCES: "this user may not listen there; choose a port above 1023",
};

function socketTrouble(path: string, code: string): string | undefined {
  const folder = dirname(path);
  switch (code) {
    case "EADDRINUSE":
      return isSocket(path)
        ? "another process listens there; stop it, or choose another path"
        : "there is a file of that name that is not a socket; choose another path";
    // A folder that is missing comes as this, too.
    case "EACCES":
      return isMissing(folder)
        ? `the folder ${folder} is not there; make it, or choose another path`
        : `this user may not write in the folder ${folder}; choose another path`;
    case "EROFS":
      return `the folder ${folder} is on a read-only file system; choose another path`;
    default:
      return undefined;
  }
}

function isSocket(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSocket() === true;
}

/** What cannot be looked at may be there. */
function isMissing(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}
