import { type Tool, ToolKind } from "../../domain/workspace.js";

interface Argument {
  readonly type: "string" | "integer" | "number" | "array" | "any";
  readonly description: string;
  readonly isOptional?: boolean;
}

const label: Argument = { type: "string", description: "The label of the memory block." };
const section: Argument = {
  type: "string",
  description: "The section of the block, if it has sections.",
  isOptional: true,
};

function tool(name: string, description: string, args: Readonly<Record<string, Argument>>): Tool {
  const properties = Object.entries(args).map(([key, { type, description: words }]) => [
    key,
    {
      ...(type === "any" ? {} : { type }),
      ...(type === "array" ? { items: { type: "string" } } : {}),
      description: words,
    },
  ]);
  const required = Object.keys(args).filter((key) => !args[key]!.isOptional);
  return {
    name,
    description,
    inputSchemaJson: JSON.stringify({
      type: "object",
      properties: Object.fromEntries(properties),
      ...(required.length > 0 ? { required } : {}),
      additionalProperties: false,
    }),
    kind: ToolKind.OTHER,
    capability: "memory",
    requiredPermissions: [],
    dangerous: false,
  };
}

/** What a model can do with its memory. Where Letta has a tool for it, name, arguments and meaning are Letta's. */
export const memoryTools: readonly Tool[] = [
  tool("memory_read", "Read a memory block as it is now.", { label }),
  tool(
    "memory_append",
    "Add to the end of a memory block: a line to a text, an item to a list, an entry to a log.",
    {
      label,
      content: { type: "string", description: "What to add." },
      section,
    },
  ),
  tool("memory_replace", "Replace a text in a memory block. It must be there exactly once.", {
    label,
    old_str: { type: "string", description: "The text to replace, exactly as it is in the block." },
    new_str: { type: "string", description: "What takes its place; empty to remove it." },
    section,
  }),
  tool("memory_insert", "Insert a text into a memory block, on lines of its own.", {
    label,
    new_str: { type: "string", description: "The text to insert." },
    insert_line: {
      type: "integer",
      description: "The line after which it comes; 0 for the beginning, -1 for the end.",
      isOptional: true,
    },
    section,
  }),
  tool("memory_rethink", "Rewrite a memory block completely.", {
    label,
    new_memory: { type: "string", description: "The whole new text of the block." },
    section,
  }),
  tool("memory_set_field", "Set a field of a memory block.", {
    label,
    field: { type: "string", description: "The name of the field." },
    value: { type: "any", description: "Its value, of the field's type; null clears it." },
    section,
  }),
  tool("memory_append_to_field", "Add an entry to a list field of a memory block.", {
    label,
    field: { type: "string", description: "The name of the field." },
    value: { type: "any", description: "The entry to add." },
    section,
  }),
  tool("memory_increment", "Count a counter of a memory block up or down.", {
    label,
    field: { type: "string", description: "The name of the counter." },
    by: { type: "number", description: "How much to add; 1 if not given.", isOptional: true },
    section,
  }),
  tool("memory_add_item", "Add an item to a list in memory.", {
    label,
    item: { type: "any", description: "The item." },
    index: {
      type: "integer",
      description: "Where it will be, from 0; at the end if not given.",
      isOptional: true,
    },
    section,
  }),
  tool("memory_set_item", "Replace an item of a list in memory.", {
    label,
    index: { type: "integer", description: "Which item, from 0." },
    item: { type: "any", description: "The item that takes its place." },
    section,
  }),
  tool("memory_delete_item", "Remove an item of a list in memory.", {
    label,
    index: { type: "integer", description: "Which item, from 0." },
    section,
  }),
  tool("archival_memory_insert", "Keep something for later in archival memory, outside of the context.", {
    content: { type: "string", description: "What to keep." },
    tags: { type: "array", description: "Words to find it by.", isOptional: true },
  }),
  tool(
    "memory_search",
    "Search memory blocks, archival memory and earlier conversations, also those that left the context.",
    {
      query: { type: "string", description: "What to look for: a question, some words, a name, a path." },
      limit: {
        type: "integer",
        description: "How many results at most, up to 50; 10 if not given.",
        isOptional: true,
      },
    },
  ),
];
