import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, linkSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { type ChannelCredentials, Client, status as Code, credentials, Metadata } from "@grpc/grpc-js";
import { service as healthService } from "grpc-health-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { packageRoot } from "../../src/config/package-root.js";
import { LedgerServiceClient, StreamHistoryRequest } from "../../src/contract/gen/quire/v1/ledger_service.js";
import { type Message, MessageRole } from "../../src/contract/gen/quire/v1/message.js";
import { openDatabase } from "../../src/storage/driver/database-sync.js";
import { type LedgerCalls, ledgerCalls, pausedHistory, readHistory } from "../ledger/ledger-calls.js";
import { said } from "../ledger/message-parts.js";
import { assistant, user } from "../support/messages.js";
import { failure, startTestServer, type TestServer, wireError } from "../support/server.js";
import { tempFolder } from "../support/temp-folder.js";
import { describeSymbol, listServices } from "./reflection-client.js";

type Flags = Parameters<typeof startTestServer>[0];

/** A grace time that no test outlives: what waits for its end never ends. */
const endless = { shutdownGraceMs: 600_000 };

/** A server of the running test. */
async function start(
  flags: Flags = {},
): Promise<{ readonly server: TestServer; readonly ledger: LedgerCalls }> {
  const server = await startTestServer(flags);
  onTestFinished(() => server.stop());
  return { server, ledger: ledgerCalls(server.ledger) };
}

function connect(
  address: string,
  channel: ChannelCredentials = credentials.createInsecure(),
): LedgerServiceClient {
  const client = new LedgerServiceClient(address, channel, { "grpc.use_local_subchannel_pool": 1 });
  onTestFinished(() => client.close());
  return client;
}

function health(address: string) {
  const client = new Client(address, credentials.createInsecure(), { "grpc.use_local_subchannel_pool": 1 });
  onTestFinished(() => client.close());
  const { Check, Watch } = healthService;
  const check = (service: string) =>
    new Promise<string>((resolve, reject) => {
      const { path, requestSerialize, responseDeserialize } = Check!;
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, { service }, (error, answer) =>
        error ? reject(error) : resolve((answer as { status: string }).status),
      );
    });
  const watch = (service: string) => {
    const { path, requestSerialize, responseDeserialize } = Watch!;
    return client.makeServerStreamRequest(
      path,
      requestSerialize,
      responseDeserialize,
      { service },
      new Metadata(),
    );
  };
  return { check, watch };
}

function large(): Message {
  const source = { $case: "data" as const, value: Buffer.alloc(1024 * 1024, 7) };
  return said(MessageRole.USER, { content: { $case: "image", value: { source, mediaType: "image/png" } } });
}

/** A history that does not fit into what is on its way to a client. */
async function longHistory(ledger: LedgerCalls, session: string): Promise<StreamHistoryRequest> {
  await ledger.session({ label: session });
  let head = "";
  for (let index = 0; index < 30; index++) head = (await ledger.turn(session, head, [large()])).id;
  return StreamHistoryRequest.create({ thread: { $case: "session", value: session } });
}

describe("health", () => {
  test("is SERVING for the server and its service, and unknown for others", async () => {
    const { server } = await start();
    const { check } = health(server.address);
    expect([await check(""), await check("quire.v1.LedgerService")]).toEqual(["SERVING", "SERVING"]);
    expect(wireError(await check("nobody's").catch((error: unknown) => error)).code).toBe(Code.NOT_FOUND);
  });

  test("is NOT_SERVING while the server stops, and those who watch are told and let go", async () => {
    const server = await startTestServer(endless);
    const { watch } = health(server.address);
    const seen: string[] = [];
    const stream = watch("quire.v1.LedgerService");
    stream.on("data", ({ status }: { status: string }) => seen.push(status));
    await once(stream, "data");
    const ended = once(stream, "end");
    await server.stop();
    await ended;
    expect(seen).toEqual(["SERVING", "NOT_SERVING"]);
  });
});

describe("reflection", () => {
  test.each(["v1", "v1alpha"])("%s lists the services and describes their symbols", async (version) => {
    const { server } = await start();
    const client = connect(server.address);
    const listed = await listServices(client, version);
    expect(listed).toEqual(
      expect.arrayContaining([
        ...["AssemblyService", "CapsuleService", "LedgerService", "WorkspaceService"].map(
          (name) => `quire.v1.${name}`,
        ),
        "grpc.health.v1.Health",
      ]),
    );
    const health = await describeSymbol(client, version, "grpc.health.v1.Health");
    expect(health!.flatMap((file) => file.service.map(({ name }) => name))).toEqual(["Health"]);
    for (const symbol of [
      "quire.v1.LedgerService",
      "quire.v1.LedgerService.RecordTurn",
      "quire.v1.Message",
      "quire.v1.ErrorReason",
      "buf.validate.FieldRules",
    ]) {
      const files = await describeSymbol(client, version, symbol);
      const names = files!
        .flatMap((file) => [...file.messageType, ...file.service, ...file.enumType])
        .map((entry) => entry.name);
      expect(names).toContain(symbol.split(".")[2]);
    }
    expect(await describeSymbol(client, version, "quire.v1.Nothing")).toBeUndefined();
  });

  test("describes health: buf curl asks for it without a schema", async () => {
    const { server } = await start();
    const buf = join(packageRoot, "node_modules", ".bin", "buf");
    const curl = async (...args: readonly string[]) =>
      (await promisify(execFile)(buf, ["curl", "--protocol", "grpc", ...args])).stdout;
    const url = `http://${server.address}`;
    const request = JSON.stringify({ service: "quire.v1.AssemblyService" });
    expect(JSON.parse(await curl("-d", request, `${url}/grpc.health.v1.Health/Check`))).toEqual({
      status: "SERVING",
    });
    expect(await curl("--list-methods", url)).toContain("grpc.health.v1.Health/Check");
  });

  test("is enough for a client that has no schema: a conversation by buf curl", async () => {
    const { server } = await start();
    const buf = join(packageRoot, "node_modules", ".bin", "buf");
    const curl = async (method: string, request: object) => {
      const url = `http://${server.address}/quire.v1.LedgerService/${method}`;
      const { stdout } = await promisify(execFile)(buf, [
        "curl",
        "--protocol",
        "grpc",
        "-d",
        JSON.stringify(request),
        url,
      ]);
      return JSON.parse(stdout) as { turn: { id: string }; session: { label: string }; messages: unknown[] };
    };
    expect((await curl("CreateSession", { label: "by curl" })).session.label).toBe("by curl");
    const messages = [
      { role: "MESSAGE_ROLE_USER", parts: [{ text: { text: "hello" } }] },
      {
        role: "MESSAGE_ROLE_ASSISTANT",
        parts: [{ toolCall: { callId: "c", name: "n", argumentsJson: "{}" } }],
      },
      { role: "MESSAGE_ROLE_TOOL", parts: [{ toolResult: { callId: "c" } }] },
    ];
    await curl("RecordTurn", { session: "by curl", messages });
    await curl("ForkSession", { session: "by curl", label: "curled" });
    expect((await curl("StreamHistory", { session: "curled" })).messages).toHaveLength(3);
  });
});

describe("addresses", () => {
  test("TCP and a unix socket serve at once, the same database", async () => {
    const path = join(tempFolder(), "quire.sock");
    const { server, ledger } = await start({ listen: `127.0.0.1:0,unix:${path}` });
    await ledger.session({ label: "by TCP" });
    const local = ledgerCalls(connect(`unix:${path}`));
    expect((await local.getSession({ session: "by TCP" })).session!.label).toBe("by TCP");
    await local.turn("by TCP", "", [user("by socket")]);
    expect((await ledger.getSession({ session: "by TCP" })).session!.depth).toBe(1);
    expect(server.address).toMatch(/^127\.0\.0\.1:[1-9]\d*$/);
  });

  test("a socket file is gone after the server, and one that a killed server left is replaced", async () => {
    const folder = tempFolder();
    const [left, path] = [join(folder, "left.sock"), join(folder, "quire.sock")];
    const killed = createServer().listen(left);
    await once(killed, "listening");
    linkSync(left, path);
    killed.close();
    const server = await startTestServer({ listen: `unix:${path}` });
    await ledgerCalls(server.ledger).session();
    await server.stop();
    expect(existsSync(path)).toBe(false);
  });

  test("a socket that another server serves is not taken away, nor is a file that is none", async () => {
    const folder = tempFolder();
    const [path, file] = [join(folder, "quire.sock"), join(folder, "notes.txt")];
    const { ledger } = await start({ listen: `unix:${path}` });
    await expect(startTestServer({ listen: `unix:${path}` })).rejects.toThrow(
      `cannot listen on unix:${path}`,
    );
    await ledger.session({ label: "still there" });
    writeFileSync(file, "keep me");
    await expect(startTestServer({ listen: `unix:${file}` })).rejects.toThrow(
      `cannot listen on unix:${file}`,
    );
    expect(readFileSync(file, "utf8")).toBe("keep me");
  });

  test("a port that is taken is said by name, and nothing is left running", async () => {
    const { server } = await start();
    const second = startTestServer({ listen: `127.0.0.1:0,${server.address}` });
    await expect(second).rejects.toThrow(`cannot listen on ${server.address}`);
  });
});

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;

describe.skipIf(!hasOpenssl)("TLS (needs the openssl command)", () => {
  function certificate(): { readonly cert: string; readonly key: string } {
    const folder = tempFolder();
    const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
    const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
    const made = spawnSync("openssl", [
      ..."req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2".split(" "),
      ...["-keyout", key, "-out", cert, ...subject],
    ]);
    if (made.status !== 0) throw new Error(String(made.stderr));
    return { cert, key };
  }

  test("serves those who trust the certificate, and no others", async () => {
    const { cert, key } = certificate();
    const { server } = await start({ tlsCertificate: cert, tlsKey: key });
    const trusting = ledgerCalls(connect(server.address, credentials.createSsl(readFileSync(cert))));
    expect((await trusting.session({ label: "in secret" })).label).toBe("in secret");
    const soon = { deadline: Date.now() + 2_000 };
    for (const channel of [credentials.createInsecure(), credentials.createSsl()]) {
      const error = await failure(
        ledgerCalls(connect(server.address, channel)).getSession({ session: "in secret" }, soon),
      );
      expect([Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED]).toContain(error.code);
    }
  });

  test("names the file that cannot be read", async () => {
    const { cert, key } = certificate();
    await expect(startTestServer({ tlsCertificate: "/nowhere/cert.pem", tlsKey: key })).rejects.toThrow(
      "--tls-certificate /nowhere/cert.pem cannot be read: no such file or directory",
    );
    await expect(startTestServer({ tlsCertificate: cert, tlsKey: "/nowhere/key.pem" })).rejects.toThrow(
      "--tls-key",
    );
  });

  test("does not start with files that are no certificate and key", async () => {
    const { cert, key } = certificate();
    await expect(startTestServer({ tlsCertificate: key, tlsKey: cert })).rejects.toThrow();
  });
});

describe("stopping", () => {
  test("finishes the streams that run, then closes; new calls are not taken", async () => {
    const server = await startTestServer(endless);
    const ledger = ledgerCalls(server.ledger);
    const request = await longHistory(ledger, "slow");
    const stream = await pausedHistory(server.ledger.streamHistory(request));
    const late = connect(server.address);
    let stopped = false;
    const stopping = server.stop().then(() => {
      stopped = true;
    });
    expect((await failure(ledgerCalls(late).getSession({ session: "slow" }))).code).toBe(Code.UNAVAILABLE);
    expect(stopped).toBe(false);
    const { messages } = await readHistory(stream);
    expect(messages).toHaveLength(30);
    await stopping;
  });

  test("answers the writes that run, and they are there afterwards; the port and the database are free", async () => {
    const path = join(tempFolder(), "quire.db");
    const first = await startTestServer({ database: `file:${path}`, ...endless });
    const calls = ledgerCalls(connect(first.address));
    const sessions = await Promise.all(Array.from({ length: 20 }, () => calls.session()));
    const other = openDatabase(path);
    other.exec("BEGIN IMMEDIATE");
    const writes = Promise.all(sessions.map(({ id }) => calls.turn(id, "", [user("in flight")])));
    // Calls of one connection arrive in their order: when this one is answered, the writes before it run.
    await calls.getSession({ session: sessions[0]!.id });
    const stopping = first.stop();
    other.exec("ROLLBACK");
    other.close();
    expect((await writes).map((turn) => turn.depth)).toEqual(Array(20).fill(1));
    await stopping;

    const second = await startTestServer({ database: `file:${path}`, listen: first.address });
    onTestFinished(() => second.stop());
    for (const { id } of sessions)
      expect((await ledgerCalls(second.ledger).getSession({ session: id })).session!.depth).toBe(1);
  });

  test("ends watchers at once, with the word that the server goes down", async () => {
    const server = await startTestServer(endless);
    const ledger = ledgerCalls(server.ledger);
    const { id } = await ledger.session();
    const watcher = ledger.watch({ session: id });
    await watcher.next();
    await server.stop();
    expect(await failure(watcher.next())).toMatchObject({
      code: Code.UNAVAILABLE,
      reason: "SHUTTING_DOWN",
      retry: true,
    });
  });

  test("does not wait for ever: after the grace time what still runs is told and cut off", async () => {
    const server = await startTestServer({ shutdownGraceMs: 200 });
    const request = await longHistory(ledgerCalls(server.ledger), "stuck");
    const stream = await pausedHistory(server.ledger.streamHistory(request));
    const ended = new Promise((resolve) => stream.once("error", resolve));
    await server.stop();
    stream.resume();
    expect([Code.UNAVAILABLE, Code.CANCELLED]).toContain(wireError(await ended).code);
  });

  test("does not wait for clients that are connected and ask nothing", async () => {
    const server = await startTestServer(endless);
    const idle = connect(server.address);
    await ledgerCalls(idle).session();
    await server.stop();
  });
});

describe("limits", () => {
  test("a request over the limit is refused before it is read, one below is served", async () => {
    const { ledger } = await start({ maxRequestBytes: 64 * 1024 });
    const { id } = await ledger.session();
    const error = await failure(ledger.turn(id, "", [user("x".repeat(65 * 1024))]));
    expect(error.code).toBe(Code.RESOURCE_EXHAUSTED);
    expect((await ledger.turn(id, "", [user("x".repeat(60 * 1024)), assistant("ok")])).depth).toBe(1);
  });
});
