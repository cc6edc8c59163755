import { BlockList, isIP } from "node:net";

/** Where a plug-in is: a host and a port, as they were given. */
export interface PlugInAddress {
  readonly host: string;
  readonly port: number;
}

/** Undefined for what is not host and port: no schemes, no paths, no numbers that only some resolvers take for addresses. */
export function parseAddress(text: string): PlugInAddress | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?)):(\d{1,5})$/.exec(
    text,
  );
  if (!match) return undefined;
  const host = match[1] ?? match[2]!;
  const port = Number(match[3]);
  const isHost = match[1] === undefined ? isIP(host) !== 6 : isIP(host) === 6;
  const isNumeric = isIP(host) === 0 && /^[0-9.]+$|^0x/i.test(host);
  return isHost && !isNumeric && port > 0 && port < 65_536 ? { host, port } : undefined;
}

/** How grpc is to reach it. `localhost` is this machine, whatever a resolver says of it. */
export function targetOf({ host, port }: PlugInAddress): string {
  if (host.toLowerCase() === "localhost") return `ipv4:127.0.0.1:${port}`;
  const kind = isIP(host);
  if (kind === 4) return `ipv4:${host}:${port}`;
  return kind === 6 ? `ipv6:[${host}]:${port}` : `dns:${host}:${port}`;
}

interface Rule {
  readonly isHost: (host: string) => boolean;
  /** Undefined for any. */
  readonly port: number | undefined;
}

/**
 * Which addresses plug-ins may have. A name is allowed only by that name, never by what it resolves to; an address only by an address or a
 * network.
 */
export class AllowedAddresses {
  private readonly rules: readonly Rule[];

  /** Entries are `loopback`, or `host:port`, where the host is a name, an address or a network such as 10.0.0.0/8, and the port may be `*`. */
  constructor(entries: readonly string[]) {
    this.rules = entries.map((entry) => {
      const rule = parseRule(entry);
      if (!rule) throw new Error(`${entry} is no address that plug-ins may be allowed at`);
      return rule;
    });
  }

  allows({ host, port }: PlugInAddress): boolean {
    return this.rules.some((rule) => (rule.port ?? port) === port && rule.isHost(host));
  }
}

const loopbackHosts = networks([
  ["127.0.0.0", 8],
  ["::1", 128],
]);

function parseRule(entry: string): Rule | undefined {
  if (entry === "loopback")
    return { isHost: (host) => host.toLowerCase() === "localhost" || loopbackHosts(host), port: undefined };
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5}|\*)$/.exec(entry);
  if (!match) return undefined;
  const port = match[3] === "*" ? undefined : Number(match[3]);
  const given = match[1] ?? match[2]!;
  const [address, prefix, ...more] = given.split("/");
  const kind = isIP(address!);
  if (more.length > 0 || (prefix !== undefined && kind === 0)) return undefined;
  if (kind === 0) return { isHost: (host) => host.toLowerCase() === given.toLowerCase(), port };
  const most = kind === 4 ? 32 : 128;
  const bits = prefix === undefined ? most : Number(prefix);
  if (!Number.isInteger(bits) || bits < 0 || bits > most) return undefined;
  return { isHost: networks([[address!, bits]]), port };
}

export function isAddressRule(entry: string): boolean {
  return parseRule(entry) !== undefined;
}

function networks(all: readonly (readonly [string, number])[]): (host: string) => boolean {
  const known = new BlockList();
  for (const [address, bits] of all) known.addSubnet(address, bits, isIP(address) === 6 ? "ipv6" : "ipv4");
  return (host) => {
    const kind = isIP(host);
    return kind !== 0 && known.check(host, kind === 6 ? "ipv6" : "ipv4");
  };
}
