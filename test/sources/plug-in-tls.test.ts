import { ServerCredentials } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import { SourceState } from "../../src/domain/source.js";
import type { Quire } from "../../src/index.js";
import { exactModel, putAgent } from "../assembly/agent.js";
import { openedEngine } from "../assembly/opened-engine.js";
import { type Authority, hasOpenssl, makeAuthority } from "../support/certificates.js";
import { contextText } from "./context-text.js";
import { startPlugIn } from "./plug-in-server.js";

/** A plug-in whose certificate is for these names. */
function startSecured(authority: Authority, ...names: readonly string[]) {
  const { keyPem, certPem } = authority.issue(...names);
  const pair = { private_key: Buffer.from(keyPem), cert_chain: Buffer.from(certPem) };
  const secured = ServerCredentials.createSsl(null, [pair]);
  return startPlugIn(() => ({ blocks: [{ title: "safe", content: "said in private" }] }), { secured });
}

async function build(quire: Quire) {
  const event = { content: [{ content: { $case: "text" as const, value: { text: "Any news?" } } }] };
  const context = { session: "s", capsule: "atlas", model: exactModel, event };
  return (await quire.assembly.buildContext({ context })).context!;
}

describe.skipIf(!hasOpenssl)("plug-ins over TLS (needs the openssl command)", () => {
  test("a certificate of the right authority for the right name is trusted, and no other; what is wrong is said", async () => {
    const { quire } = await openedEngine();
    await putAgent(quire);
    await quire.ledger.createSession({ label: "s" });
    const own = makeAuthority("own authority");
    const other = makeAuthority("other authority");
    const named = await startSecured(own, "DNS:plug.test");
    const numbered = await startSecured(own, "IP:127.0.0.1");
    const plain = await startPlugIn(() => ({ blocks: [] }));
    const register = (name: string, address: string, tls: object | undefined) =>
      quire.sources.putSource({
        source: { name, endpoint: { address, tls }, rule: { name, deadlineMs: 60_000 } } as never,
      });
    const { keyPem } = own.issue("DNS:plug.test");
    for (const caPem of ["hello", keyPem, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
      await expect(register("nonsense", named.address, { caPem })).rejects.toMatchObject({
        violations: [{ field: "source.endpoint.tls.ca_pem" }],
      });
    await register("right", named.address, { caPem: own.certPem, serverName: "plug.test" });
    await register("by_address", numbered.address, { caPem: own.certPem });
    await register("wrong_ca", named.address, { caPem: other.certPem, serverName: "plug.test" });
    await register("usual_cas", named.address, { serverName: "plug.test" });
    await register("wrong_name", named.address, { caPem: own.certPem, serverName: "other.test" });
    await register("no_name", named.address, { caPem: own.certPem });
    await register("not_tls", plain.address, { caPem: own.certPem });
    await register("only_tls", named.address, undefined);
    const { currentMessage, sources } = await build(quire);
    const said = Object.fromEntries(sources.map(({ name, state, detail }) => [name, [state, detail]]));
    const untrusted = "its certificate is of no authority that is trusted for it";
    expect(said).toEqual({
      right: [SourceState.OK, ""],
      by_address: [SourceState.OK, ""],
      wrong_ca: [SourceState.FAILED, untrusted],
      usual_cas: [SourceState.FAILED, untrusted],
      wrong_name: [SourceState.FAILED, "its certificate is for another name"],
      no_name: [SourceState.FAILED, "its certificate is for another name"],
      not_tls: [SourceState.FAILED, "it does not speak TLS"],
      only_tls: [SourceState.FAILED, "it cannot be reached, or ended in the middle of its answer"],
    });
    expect(await quire.sources.checkSource({ name: "wrong_ca" })).toMatchObject({
      healthy: false,
      detail: untrusted,
    });
    expect(await quire.sources.checkSource({ name: "right" })).toMatchObject({ healthy: true });
    expect(contextText(currentMessage).split("said in private")).toHaveLength(3);
  });
});
