import { MessageRole, type Part } from "../../contract/gen/quire/v1/message.js";
import { UnreadableInput } from "../../errors/unreadable-input.js";
import { Findings } from "../findings.js";
import { mostCharacters } from "./bounds.js";
import { cleanName } from "./clean-name.js";
import { text, textPiece, toolCall, toolResult } from "./content.js";
import { isObject, type JsonObject, listAt, objectAt, textAt } from "./json.js";
import { shortMetadata } from "./metadata.js";
import { readChatMessage } from "./openai.js";
import { planTurns } from "./plan-turns.js";
import { readJsonOrLines } from "./read-json.js";
import type { Importer, TranscriptMessage } from "./transcript.js";

const actionTool = "bash";

/**
 * A trajectory of SWE-agent (`.traj`). Its `history` is what the model saw: chat messages with tool calls, or, in older versions, actions
 * written as text and answered by user messages, which become calls with their results. Without a history, the steps are read.
 */
export const importSweAgent: Importer = (fileText, { label }) => {
  const findings = new Findings();
  const file = readJsonOrLines(fileText, findings);
  if (!isObject(file) || (!Array.isArray(file.history) && !Array.isArray(file.trajectory)))
    throw new UnreadableInput('the file is no SWE-agent trajectory: it needs "history" or "trajectory"');
  const history = listAt(file, "history");
  const steps = listAt(file, "trajectory").filter(isObject);
  const messages = history.length > 0 ? readHistory(history, label, findings) : readSteps(steps, label);
  const workspacePath = cleanName(
    workingDirectory(steps),
    mostCharacters("CreateSessionRequest.workspace_path"),
  );
  const info = objectAt(file, "info") ?? {};
  return {
    sessions: [
      {
        label,
        workspacePath,
        metadata: shortMetadata(
          {
            "swe_agent.environment": textAt(file, "environment"),
            "swe_agent.exit_status": textAt(info, "exit_status"),
            "swe_agent.version": textAt(info, "swe_agent_version"),
          },
          findings,
        ),
        turns: planTurns(messages, findings, workspacePath),
      },
    ],
    findings: findings.list(),
  };
};

function readHistory(
  history: readonly unknown[],
  label: string,
  findings: Findings,
): readonly TranscriptMessage[] {
  const messages: TranscriptMessage[] = [];
  let open = "";
  for (const [index, entry] of history.entries()) {
    const where = `${label}, message ${index + 1}`;
    if (!isObject(entry)) {
      findings.add("entries that are no messages, left out", where);
      continue;
    }
    const action = textAt(entry, "action").trim();
    const isCalling = listAt(entry, "tool_calls").length > 0;
    if (entry.role === "assistant" && action !== "" && !isCalling) {
      open = `action_${index + 1}`;
      messages.push(actionMessage(entry, open, where));
      findings.add(`actions written as text, kept as calls of "${actionTool}"`, where);
    } else if (entry.role === "user" && open !== "") {
      messages.push(observation(open, contentText(entry), where));
      open = "";
    } else {
      open = "";
      const [callId] = listAt(entry, "tool_call_ids");
      const chat = typeof callId === "string" ? { ...entry, tool_call_id: callId } : entry;
      messages.push(...readChatMessage(chat, where, findings));
    }
  }
  return messages;
}

function readSteps(steps: readonly JsonObject[], label: string): readonly TranscriptMessage[] {
  return steps.flatMap((step, index) => {
    const where = `${label}, step ${index + 1}`;
    const callId = `action_${index + 1}`;
    const said = { ...step, content: textAt(step, "response") || textAt(step, "thought") };
    return [actionMessage(said, callId, where), observation(callId, textAt(step, "observation"), where)];
  });
}

/** What was thought, and the action as a call; a text that says more than these is kept whole. */
function actionMessage(entry: JsonObject, callId: string, where: string): TranscriptMessage {
  const action = textAt(entry, "action").trim();
  const content = contentText(entry);
  const thought = textAt(entry, "thought").trim();
  const rest = content.replace(thought, "").replace(action, "").replace(/[`\s]/gu, "");
  const said = thought !== "" && rest === "" ? thought : content;
  const parts: readonly Part[] = [
    ...(said.trim() === "" ? [] : [text(said)]),
    toolCall(callId, actionTool, JSON.stringify({ command: action })),
  ];
  return { role: MessageRole.ASSISTANT, parts, where };
}

function observation(callId: string, seen: string, where: string): TranscriptMessage {
  const content = seen === "" ? [] : [{ content: textPiece(seen) }];
  return { role: MessageRole.TOOL, parts: [toolResult(callId, content)], where };
}

function contentText(entry: JsonObject): string {
  if (!Array.isArray(entry.content)) return textAt(entry, "content");
  return entry.content.map((part) => (isObject(part) ? textAt(part, "text") : "")).join("\n");
}

/** Where the agent works: steps carry the state of its shell, as JSON. */
function workingDirectory(steps: readonly JsonObject[]): string {
  for (const step of steps) {
    const { state } = step;
    const read = typeof state === "string" ? parsed(state) : state;
    if (isObject(read) && textAt(read, "working_dir") !== "") return textAt(read, "working_dir");
  }
  return "";
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
