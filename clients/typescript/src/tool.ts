import type { Agent } from "./agent.js";
import type { DeepPartial, ToolCallPart } from "./gen/quire/v1/message.js";
import type { ToolOutput } from "./gen/quire/v1/response.js";
import type { Tool as ToolDefinition } from "./gen/quire/v1/workspace.js";

/** The call of a tool, for a tool that needs to know more than its arguments. */
export interface ToolCall {
  readonly call: ToolCallPart;
  readonly turnId: string;
  /** The agent whose model made the call. */
  readonly agent: Agent;
  /** Is aborted when the turn is. */
  readonly signal: AbortSignal;
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  /** The arguments as a JSON Schema of type object. */
  readonly schema: object;
  // biome-ignore lint/suspicious/noExplicitAny: arguments are what a model wrote, by the schema at best
  run(args: any, call: ToolCall): ToolAnswer | Promise<ToolAnswer>;
}

/** What a tool returns: text, or a whole result. What it throws is told to the model as an error. */
export type ToolAnswer = string | Omit<DeepPartial<ToolOutput>, "callId">;

export function definitionOf({ name, description, schema }: Tool): DeepPartial<ToolDefinition> {
  return { name, description, inputSchemaJson: JSON.stringify(schema) };
}

/** Carries a call out. Whatever goes wrong is a result. */
export async function runTool(tool: Tool | undefined, about: ToolCall): Promise<DeepPartial<ToolOutput>> {
  const { callId, name, argumentsJson } = about.call;
  try {
    if (!tool) throw new Error(`there is no tool ${name}`);
    const answer = await tool.run(JSON.parse(argumentsJson || "{}"), about);
    return typeof answer === "string" ? { callId, text: answer } : { ...answer, callId };
  } catch (thrown) {
    return { callId, text: thrown instanceof Error ? thrown.message : String(thrown), isError: true };
  }
}

/**
 * A tool by which the model spawns a worker: a sub-agent with a session of its own, which gets the task, does it with these tools (the agent's
 * own tools without this one, unless they are given), and whose answer is the result.
 */
export function workerTool(
  options: { readonly name?: string; readonly description?: string; readonly tools?: readonly Tool[] } = {},
): Tool {
  const { name = "delegate", tools } = options;
  return {
    name,
    description:
      options.description ?? "Gives a task to a worker, who carries it out alone and reports back.",
    schema: {
      type: "object",
      properties: { task: { type: "string", description: "What to do, with all that is needed to do it." } },
      required: ["task"],
    },
    async run({ task }: { task: string }, { agent, turnId, call, signal }) {
      const given = tools ?? agent.tools.filter((tool) => tool.name !== name);
      const worker = await agent.spawn({ task, tools: given, callId: call.callId, turnId });
      return (await worker.work({ signal })).text;
    },
  };
}
