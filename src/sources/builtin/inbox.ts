import { AgentRole } from "../../domain/agent-role.js";
import { fill } from "../../domain/prompt-texts.js";
import { SourceItemKind } from "../../domain/source-item.js";
import { oneLine } from "../quoted.js";
import { plainRules } from "../rules.js";
import { emptyAnswer } from "../source.js";
import type { BuiltIn } from "./builtin.js";

/** Unread mail as a connector summed it up, the newest first. Workers talk to nobody and do not see it. */
export const inbox: BuiltIn = {
  name: "inbox",
  kinds: [SourceItemKind.MAIL],
  defaults: {
    ...plainRules,
    roles: [AgentRole.MANAGER, AgentRole.UNIFIED],
    order: 110,
    priority: 40,
    maxItems: 5,
    maxTokens: 512,
  },
  async answer(known, of, { texts, nowMs }, { maxItems }) {
    const all = [...(await known.items(of, SourceItemKind.MAIL, "mail", nowMs))];
    if (all.length === 0) return emptyAnswer;
    const time = ({ receiveTime, updatedMs }: (typeof all)[number]) => receiveTime?.getTime() ?? updatedMs;
    const lines = all
      .sort((a, b) => time(b) - time(a) || (a.key < b.key ? -1 : 1))
      .slice(0, maxItems)
      .map(({ sender, subject, summary }) => {
        const facts = { sender: oneLine(sender), subject: oneLine(subject), summary: oneLine(summary) };
        return fill(texts[facts.summary === "" ? "source-mail-bare" : "source-mail"], facts);
      });
    const heading = fill(texts["source-inbox"], { count: String(all.length) });
    return { blocks: [{ title: "inbox", content: [heading, ...lines].join("\n"), entities: [] }] };
  },
};
