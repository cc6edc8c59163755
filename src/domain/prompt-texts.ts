/**
 * Every word that a model reads and that nobody wrote for this conversation. `{{name}}` is filled in. An operator replaces a text by a file
 * of its name (`worker.md`) in the templates folder; docs/operations.md lists them.
 */
export const defaultPromptTexts = {
  worker: `# Subagent Context

You are a **worker agent** spawned for a specific task.

## Your Task
{{task}}

## Rules
1. Stay focused — do your assigned task, nothing else
2. Complete the task — your final message reports back to the manager
3. Don't initiate — no proactive actions, no side quests
4. Be ephemeral — you may be terminated after completion

## What You DON'T Do
- NO user conversations (manager's job)
- NO external messages unless explicitly tasked
- NO persistent state changes outside your task scope`,
  manager: `# Manager Context

You are a **manager agent**: conversations with the user are your job.

## Messaging
1. Reply on the platform that the event came from, with the actions that are available there
2. Send external messages through the messaging tools; text that you write elsewhere reaches nobody
3. Spawn workers for focused tasks; they report back to you, never to the user
4. Tell the user in your own words what workers found`,
  permissions: "Permissions: {{permissions}}",
  runtime: "Runtime: host={{host}} os={{os}} arch={{arch}}",
  language: "",
  skills: "",
  memory: "",
  autonomy: "",

  "environment-heading": "## Environment",
  "environment-introduction": "This is a condensed summary of what you can use here.",
  "environment-capabilities-heading": "### Capabilities",
  "environment-category": "{{category}}: {{groups}}",
  "environment-group-separator": " | ",
  "environment-name-separator": ", ",
  "environment-active": "{{names}} ✅",
  "environment-ready": "{{names}} ⭐ (ready)",
  "environment-needs-setup": "{{names}} 🔧 (needs setup)",
  "environment-needs-setup-reason": "{{names}} 🔧 ({{reason}})",
  "environment-broken": "{{names}} ❌ (broken)",
  "environment-broken-reason": "{{names}} ❌ (broken: {{reason}})",
  "environment-skills-heading": "### Using Skills",
  "environment-skills-usage": "Get the full guide of a capability before you first use it.",
  "environment-skills-hint": "- {{names}}: {{hint}}",
  "environment-credentials-heading": "### Credentials",
  "environment-credentials-configured": "{{count}} configured",
  "environment-credentials-broken": "{{count}} broken ({{names}})",

  "tool-rules-heading": "# Tool Execution Rules",
  "tool-rules-line": "- {{rule}}",
  "tool-rules-start-constraint": "Call `{{tool}}` first before any other tools",
  "tool-rules-exit-loop": "The conversation will end after calling `{{tool}}`",
  "tool-rules-continue-loop": "The conversation will be continued after calling `{{tool}}`",
  "tool-rules-max-calls": "Call `{{tool}}` at most {{count}} times",
  "tool-rules-max-one-call": "Call `{{tool}}` at most 1 time",
  "tool-rules-requires-prior": "Call `{{tool}}` only after calling: {{prior}}",

  "current-time": "Current time: {{time}}",
  "current-timezone": "Timezone: {{timezone}}",
  "current-platform": "Platform: {{platform}}",
  "current-actions": "Available actions: {{actions}}",
  "current-identity": "From: {{identity}}",
  "current-metadata-heading": "Event metadata:",
  "current-metadata-entry": "- {{key}}: {{value}}",
  "current-activity-heading": "Recent activity:",
  "current-activity-entry": "- {{entry}}",

  "update-head": "[Update of the system prompt: {{section}}]",
  "update-end": "[End of the update]",
  "update-gone": "This section no longer applies.",
  "update-new": "This section is new:\n{{text}}",
  "update-same": "This section is again as the system prompt says.",
  "update-whole": "This section now reads:\n{{text}}",
  "update-lines": "Of this section these lines changed (- before, + now):\n{{lines}}",
  "update-rebuilt-head": "[Update of the system prompt]",
  "update-rebuilt": "The system prompt was rebuilt and includes all earlier updates; ignore those.",

  /** One line: what follows it in a message is the summary. */
  "summary-mark": "[Previous conversation summary]",
  "left-out-result": "[tool result left out: {{tokens}} tokens]",
  "left-out-messages": "[the first {{count}} messages of this turn were left out]",
  "no-result": "[no result was recorded]",
  truncated: "[...truncated]",

  "body-start": "[earlier messages are not shown]",
  "body-end": "[continue]",
  "body-nothing": "[empty message]",
  "body-instruction": "[instruction of the operator]\n{{text}}",
  "body-image": "[image]",
  "body-image-type": "[image, {{type}}]",
  "body-file": "[file]",
  "body-file-facts": "[file {{facts}}]",
  "body-assistant-media": "[{{kind}} from the assistant]",
  "body-result-media": "[{{kind}} from the result of {{name}}, call {{id}}]",
  "body-call": "[call of {{name}}] {{arguments}}",
  "body-orphan-result": "[result of a call that is not shown] {{text}}",
  "body-no-output": "[no output]",
  "body-failed": "[the tool failed] {{text}}",
  "body-failed-silently": "[the tool failed and said nothing]",
  "body-approval-of": " of {{tool}}",
  "body-approval-asked": "[approval{{of}} asked]",
  "body-approval-asked-prompt": "[approval{{of}} asked: {{prompt}}]",
  "body-approval-answered": "[approval{{of}}: {{decision}}]",
  "body-approval-answered-reason": "[approval{{of}}: {{decision}}, {{reason}}]",
  "body-approved": "approved",
  "body-denied": "denied",

  summary: `You write summaries of conversations between a user and an assistant. Your summary takes the place of the conversation: the assistant goes on from it and has nothing else.

Keep:
- what the user wants: goals, instructions, preferences and names, in the user's own words where the words matter
- what was decided, and why
- what was done, and what came of it
- what is still open: tasks, questions, calls and approvals that wait for an answer
- file names, paths, identifiers, addresses, dates, amounts and all other numbers, exactly as they are written

Leave out greetings, repetitions, and attempts that led nowhere unless they must not be made again.

Write plain text in the language of the conversation, in short paragraphs or lists, in at most {{maxWords}} words ({{maxTokens}} tokens). Write the summary and nothing else: no introduction, no remarks about it.`,
  "summary-previous":
    "A summary of what came before. Fold it into yours; nothing in it that still matters may be lost:",
  "summary-conversation": "The conversation:",
  "summary-conversation-since": "The conversation since then:",
  "summary-identifiers":
    "Identifiers of open work. Each of them must be in your summary, character by character:",
  "summary-instructions": "Who asked for this summary also wants:",
  "summary-request": "Write the summary now, in at most {{maxWords}} words.",
} as const;

export type PromptTextName = keyof typeof defaultPromptTexts;

/** The texts in force. */
export type PromptTexts = Readonly<Record<PromptTextName, string>>;

export const promptTextNames = Object.keys(defaultPromptTexts) as PromptTextName[];

/** A text with its `{{name}}` places filled. What is filled in is never looked at again; unknown places stay. */
export function fill(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{\{(\w+)\}\}/g, (place, name: string) =>
    Object.hasOwn(values, name) ? String(values[name]) : place,
  );
}
