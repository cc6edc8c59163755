import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "./temp-folder.js";

/** Certificates are made by the openssl command. */
export const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;

export interface Authority {
  readonly certPem: string;
  /** A key and a certificate for a server of these names: `DNS:plug.test`, `IP:127.0.0.1`. */
  issue(...names: readonly string[]): { readonly keyPem: string; readonly certPem: string };
}

/** An authority of its own, for the running test. */
export function makeAuthority(name: string): Authority {
  const folder = tempFolder();
  const at = (file: string) => join(folder, file);
  const openssl = (...args: readonly string[]) => execFileSync("openssl", args, { stdio: "pipe" });
  const ecKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  openssl(
    ...["req", "-x509", ...ecKey, "-days", "2", "-subj", `/CN=${name}`],
    ...["-addext", "basicConstraints=critical,CA:TRUE", "-keyout", at("ca.key"), "-out", at("ca.pem")],
  );
  return {
    certPem: readFileSync(at("ca.pem"), "utf8"),
    issue(...names) {
      openssl("req", ...ecKey, "-subj", "/CN=server", "-keyout", at("key"), "-out", at("request"));
      writeFileSync(at("extensions"), `subjectAltName=${names.join(",")}\n`);
      openssl(
        ...["x509", "-req", "-in", at("request"), "-CA", at("ca.pem"), "-CAkey", at("ca.key")],
        ...["-CAcreateserial", "-days", "2", "-extfile", at("extensions"), "-out", at("cert")],
      );
      return { keyPem: readFileSync(at("key"), "utf8"), certPem: readFileSync(at("cert"), "utf8") };
    },
  };
}
