// Opens the built engine, leaves a watch running, and closes. Nothing may keep the process alive after that.
import { createQuire } from "../../dist/src/index.js";

const quire = await createQuire({ database: process.argv[2], logLevel: "silent" });
await quire.ledger.createSession({ label: "watched" });
const seen = [];
const watching = (async () => {
  for await (const { event } of quire.ledger.watchSession({ session: "watched" })) seen.push(event.$case);
})().catch((error) => seen.push(error.reason));
while (seen.length === 0) await new Promise((done) => setTimeout(done, 5));
await quire.close();
await quire.close();
await watching;
const late = await quire.ledger.getSession({ session: "watched" }).catch((error) => error.reason);
console.log([...seen, late].join(" "));
