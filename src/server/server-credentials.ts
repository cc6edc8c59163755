import { createSecureContext } from "node:tls";
import { ServerCredentials } from "@grpc/grpc-js";
import { ConfigError } from "../config/config-error.js";
import { type Config, configOptions } from "../config/options.js";
import { readSettingFile } from "../config/setting-file.js";
import { systemWords } from "../config/system-words.js";

/** Throws a ConfigError for a certificate or a key that cannot be read, or that do not belong together. */
export function serverCredentials(config: Config): ServerCredentials {
  const { tlsCertificate, tlsKey } = config;
  if (!tlsCertificate) return ServerCredentials.createInsecure();
  const [certificateFlag, keyFlag] = [configOptions.tlsCertificate.flag, configOptions.tlsKey.flag];
  const cert_chain = readSettingFile(certificateFlag, tlsCertificate);
  const private_key = readSettingFile(keyFlag, tlsKey);
  try {
    createSecureContext({ cert: cert_chain, key: private_key });
  } catch (error) {
    const words = systemWords(error).replace(/^error:\w+:/, "");
    throw new ConfigError([
      `${certificateFlag} ${tlsCertificate} with ${keyFlag} ${tlsKey} cannot be used: ${words}`,
    ]);
  }
  return ServerCredentials.createSsl(null, [{ cert_chain, private_key }]);
}
