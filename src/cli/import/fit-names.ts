import type { Part } from "../../contract/gen/quire/v1/message.js";
import { cleanName } from "./clean-name.js";

/** The part with its names as the ledger takes them. */
export function fitNames({ content }: Part): Part {
  switch (content?.$case) {
    case "toolCall": {
      const name = cleanName(content.value.name, 256) || "tool";
      return { content: { ...content, value: { ...content.value, name } } };
    }
    case "thinking": {
      const provider = cleanName(content.value.provider, 64);
      return { content: { ...content, value: { ...content.value, provider } } };
    }
    case "opaque": {
      const kind = cleanName(content.value.kind, 128);
      return { content: { ...content, value: { ...content.value, kind } } };
    }
    case "image": {
      const mediaType = cleanName(content.value.mediaType, 128);
      return { content: { ...content, value: { ...content.value, mediaType } } };
    }
    case "file": {
      const mediaType = cleanName(content.value.mediaType, 128);
      const name = cleanName(content.value.name, 1024);
      return { content: { ...content, value: { ...content.value, mediaType, name } } };
    }
    default:
      return { content };
  }
}
