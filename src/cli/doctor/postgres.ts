import { connect } from "node:net";
import { type Check, fail, ok } from "./check.js";

const timeoutMs = 5_000;

/** "Do you speak TLS?", which every PostgreSQL server answers with one letter before any login. */
const sslRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);

/** Whether a PostgreSQL server answers where one is configured. Logs in nowhere and changes nothing. */
export async function checkPostgres(url: string): Promise<Check> {
  if (!URL.canParse(url))
    return fail("PostgreSQL", "its address cannot be read", "write postgresql://user@host:port/database");
  const target = postgresTarget(url);
  const where = "path" in target ? target.path : `${target.host}:${target.port}`;
  try {
    const answer = await ask(target);
    if (/^[SNE]/.test(answer))
      return ok("PostgreSQL", `a server answers at ${where}; the login is tried at start`);
    return fail(
      "PostgreSQL",
      `what answers at ${where} is no PostgreSQL server`,
      "check host and port of --database",
    );
  } catch (error) {
    const hint = "is it running, and are host and port of --database right?";
    const { message, code } = error as NodeJS.ErrnoException;
    return fail("PostgreSQL", `${where}: ${message || code}`, hint);
  }
}

export function postgresTarget(
  url: string,
): { readonly host: string; readonly port: number } | { readonly path: string } {
  const { hostname, port, searchParams } = new URL(url);
  const host = searchParams.get("host") ?? (decodeURIComponent(hostname) || "localhost");
  const number = Number(port || searchParams.get("port") || 5432);
  if (host.startsWith("/")) return { path: `${host}/.s.PGSQL.${number}` };
  return { host: host.replace(/^\[|\]$/g, ""), port: number };
}

function ask(target: ReturnType<typeof postgresTarget>): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...target, timeout: timeoutMs }, () => socket.write(sslRequest));
    const settle = (finish: () => void) => {
      socket.destroy();
      finish();
    };
    socket.once("data", (answer) => settle(() => resolve(answer.toString("latin1"))));
    socket.once("timeout", () => settle(() => reject(new Error("no answer"))));
    socket.once("error", (error) => settle(() => reject(error)));
    socket.once("close", () => resolve(""));
  });
}
