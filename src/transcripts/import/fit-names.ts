import type { Part } from "../../contract/gen/quire/v1/message.js";
import { mostCharacters } from "./bounds.js";
import { cleanName } from "./clean-name.js";

/** The part with its names as the ledger takes them. */
export function fitNames({ content }: Part): Part {
  switch (content?.$case) {
    case "toolCall": {
      const name = cleanName(content.value.name, mostCharacters("ToolCallPart.name")) || "tool";
      return { content: { ...content, value: { ...content.value, name } } };
    }
    case "thinking": {
      const provider = cleanName(content.value.provider, mostCharacters("ThinkingPart.provider"));
      return { content: { ...content, value: { ...content.value, provider } } };
    }
    case "opaque": {
      const kind = cleanName(content.value.kind, mostCharacters("OpaquePart.kind"));
      return { content: { ...content, value: { ...content.value, kind } } };
    }
    case "image": {
      const mediaType = cleanName(content.value.mediaType, mostCharacters("ImagePart.media_type"));
      return { content: { ...content, value: { ...content.value, mediaType } } };
    }
    case "file": {
      const mediaType = cleanName(content.value.mediaType, mostCharacters("FilePart.media_type"));
      const name = cleanName(content.value.name, mostCharacters("FilePart.name"));
      return { content: { ...content, value: { ...content.value, mediaType, name } } };
    }
    default:
      return { content };
  }
}
