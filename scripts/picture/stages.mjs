/**
 * How a context is made: the calls of src/assembly/assemble.ts in their order. Each has the file that it is in, what it does, what it
 * reads and writes, and the events that the stream gets after it. Stages that take several calls are groups.
 */
export const stages = [
  {
    name: "resolve",
    calls: "resolve",
    file: "resolve/resolve.ts",
    does: "finds what the request names or the session remembers",
    reads: [
      ["sessions", "turns", "compactions", "pins"],
      ["capsules", "workspaces", "calibrations"],
      ["receipts", "models", "templates", "prime.md"],
    ],
  },
  {
    name: "plan",
    calls: "plan",
    file: "plan/plan.ts",
    does: "the token budget: window, reserves, lanes",
    events: [{ kind: "resolved", says: "session, model, budget" }],
  },
  {
    name: "ask",
    calls: "startGathering",
    file: "gather/gather.ts",
    does: "asks all sources at once, each within its deadline",
    reads: [["sources", "plug-ins"]],
  },
  {
    name: "tools",
    calls: "selectTools",
    file: "tools/tools.ts",
    does: "filtered by capability, permission and role",
    reads: [["tools kept in memory"]],
    events: [{ kind: "tools", says: "not repeated if the caller has it" }],
  },
  {
    name: "ahead",
    calls: "gatherAhead",
    file: "gather/gather.ts",
    does: "waits for sources that stand before history",
  },
  {
    name: "system",
    calls: "buildSystem",
    file: "system/system.ts",
    does: "the system prompt as it would be written now",
    reads: [["system prompts kept in memory"]],
  },
  {
    name: "prefix",
    does: "which system prompt is sent",
    steps: [
      {
        name: "propose",
        calls: "proposePrefix",
        file: "prefix/propose-prefix.ts",
        does: "keep the last one while its prompt cache is warm?",
        reads: [["receipts", "turns"]],
      },
      {
        name: "try",
        calls: "tryHistory",
        file: "history/try-history.ts",
        does: "event and history with that prompt; writes nothing",
        reads: [["turns"]],
        handsOnTo: ["event", "history"],
      },
      {
        name: "settle",
        calls: "settlePrefix",
        file: "prefix/settle-prefix.ts",
        does: "it stays, or the new one takes its place",
        events: [{ kind: "system", says: "not repeated if the caller has it" }],
      },
    ],
  },
  {
    name: "event",
    calls: "buildCurrent",
    file: "event/current-message.ts",
    does: "the message to answer, counted before history is cut",
  },
  {
    name: "history",
    does: "as much as fits",
    steps: [
      {
        name: "read",
        calls: "readHistory",
        file: "history/read-history.ts",
        does: "from the newest turn back; is a compaction due?",
        reads: [["turns"]],
      },
      {
        name: "compact",
        calls: "compactHistory",
        file: "history/compact-history.ts",
        does: "if due, a summary replaces the oldest turns",
        reads: [["compactions", "turns", "a summarizer"]],
        writes: [["compactions"]],
        events: [{ kind: "compaction", says: "only if one is due", isOptional: true }],
      },
      {
        name: "build",
        calls: "buildHistory",
        file: "history/history.ts",
        does: "which turns are shown, as stored bytes",
        reads: [["turns"]],
        events: [{ kind: "history", says: "in batches; only what is new" }],
      },
    ],
  },
  {
    name: "gather",
    calls: "gatherRest",
    file: "gather/gather.ts",
    does: "waits for the others; what is late or fails is left out",
    reads: [["sources", "plug-ins"]],
    events: [{ kind: "source", says: "one for each source", isOptional: true }],
  },
  {
    name: "fit",
    calls: "fitSources",
    file: "gather/fit-sources.ts",
    does: "their blocks, by priority, into the room for memory",
    events: [{ kind: "current", wire: "current_message", says: "the event's message" }],
  },
  {
    name: "cache",
    calls: "planCaching",
    file: "cache/plan-caching.ts",
    does: "what the provider's prompt cache will do with it",
    reads: [["receipts", "turns"]],
  },
  {
    name: "body",
    calls: "renderStages",
    file: "body/render-context.ts",
    does: "the provider's request body, if it is asked for",
    events: [{ kind: "rendered", says: "only if asked for", isOptional: true }],
  },
  {
    name: "receipt",
    calls: "writeReceipt",
    file: "receipt.ts",
    does: "what went in, what was cut, and why",
    writes: [["receipts"]],
    events: [{ kind: "completed", says: "tokens, hashes, cache plan" }],
  },
];

/** Calls of assemble.ts that are no stages: they check or put together what stages gave. */
export const asides = [
  "requireLane",
  "contextUse",
  "contextMessage",
  "encodedContext",
  "isSamePrefix",
  "cutState",
];
