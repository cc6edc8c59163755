// The four APIs on one port, for trying agents without a key: npm run provider [port]
import { anthropicApi } from "./anthropic.js";
import { geminiApi } from "./gemini.js";
import { openaiChatApi } from "./openai-chat.js";
import { openaiResponsesApi } from "./openai-responses.js";
import { startProviders } from "./provider.js";
import { obedientScript } from "./script.js";

const port = Number(process.argv[2] ?? 8080);
const apis = [anthropicApi(), openaiResponsesApi(), openaiChatApi(), geminiApi()];
const providers = await startProviders(apis, { script: obedientScript, port });
for (const { name, url } of providers) console.log(`${name.padEnd(18)}${url}`);
