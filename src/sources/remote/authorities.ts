import { X509Certificate } from "node:crypto";

const certificates = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** Whether a text holds certificates as PEM, and each can be read. */
export function holdsCertificates(pem: string): boolean {
  const found = pem.match(certificates) ?? [];
  return found.length > 0 && found.every(isReadable);
}

function isReadable(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}
