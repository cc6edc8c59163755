import type { Message, Part } from "../../domain/message.js";

/** What a search finds a message by: all that was said and done in it, but not what the model only thought. */
export function messageWords({ parts }: Pick<Message, "parts">): string {
  const pieces: string[] = [];
  for (const part of parts) addPart(part, pieces);
  return pieces.join("\n");
}

function addPart({ content }: Part, pieces: string[]): void {
  switch (content?.$case) {
    case "text":
    case "refusal":
      pieces.push(content.value.text);
      break;
    case "toolCall":
      pieces.push(`${content.value.name} ${plainJson(content.value.argumentsJson)}`);
      break;
    case "toolResult":
      for (const piece of content.value.content)
        if (piece.content?.$case === "text") pieces.push(piece.content.value.text);
      break;
    case "approvalRequest":
      pieces.push(content.value.prompt);
      break;
    case "approvalAnswer":
      pieces.push(content.value.reason);
      break;
    case "file":
      pieces.push(content.value.name);
      break;
    default:
      break;
  }
}

/** Escapes would glue words together: `a\nb` is two. */
function plainJson(json: string): string {
  return json
    .replaceAll(/\\[nrt]/g, " ")
    .replaceAll('\\"', '"')
    .replaceAll("\\/", "/");
}
