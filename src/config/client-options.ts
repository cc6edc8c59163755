import { ConfigError } from "./config-error.js";
import { readSettingFile } from "./setting-file.js";

/** How a client of the server finds it. */
export interface ClientOptions {
  /** host:port, or unix:/path. */
  readonly address: string;
  /** Whether somebody named it: it is not the default. */
  readonly isAsked: boolean;
  /** PEM of the authorities that the server's certificate is checked against; absent for plain text. */
  readonly authorities: Buffer | undefined;
}

export const defaultAddress = "127.0.0.1:50051";

const addressPattern = /^(unix:.+|.+:\d{1,5})$/;

/** Flags before environment before defaults. Throws a ConfigError. */
export function clientOptions(
  flags: { readonly address?: string | undefined; readonly tlsCa?: string | undefined },
  env: Readonly<Record<string, string | undefined>> = process.env,
): ClientOptions {
  const address = flags.address ?? (env.QUIRE_ADDRESS || defaultAddress);
  const origin = flags.address === undefined ? "QUIRE_ADDRESS" : "--address";
  if (!addressPattern.test(address)) {
    throw new ConfigError([
      `${origin} must be host:port, or unix:/path/to/socket (it is ${JSON.stringify(address)})`,
    ]);
  }
  const file = flags.tlsCa ?? env.QUIRE_TLS_CA;
  const isAsked = flags.address !== undefined || Boolean(env.QUIRE_ADDRESS);
  return { address, isAsked, authorities: file ? readSettingFile("--tls-ca", file) : undefined };
}
