import { QuireError } from "../errors/quire-error.js";

/** How many of each a session may have, as the contract states; `server_watchers` is for all sessions of one server, `sub_agents` for what one call erases. */
export const limits = {
  aliases: 1_000,
  forks: 10_000,
  watchers: 10_000,
  server_watchers: 20_000,
  sub_agents: 1_000,
} as const;

export type Limit = Exclude<keyof typeof limits, "sub_agents">;

export function limitReached(limit: Limit, max: number, session: string): QuireError {
  const whose = limit === "server_watchers" ? "the server" : "the session";
  const what = limit === "server_watchers" ? "watchers" : limit;
  return new QuireError("LIMIT_REACHED", `${whose} has ${max} ${what}, and may have no more`, {
    metadata: { limit, max: String(max), session },
  });
}
