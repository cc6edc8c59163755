import { peerModule } from "./peer-package.js";

export interface LangchainMessage {
  readonly id?: string;
}

type Create = new (fields: {
  readonly id: string;
  readonly content: string;
  readonly tool_call_id?: string;
}) => LangchainMessage;

/** What the benchmarks use of `@langchain/core/messages`. */
interface LangchainMessages {
  readonly SystemMessage: Create;
  readonly HumanMessage: Create;
  readonly AIMessage: Create;
  readonly ToolMessage: Create;
  trimMessages(
    messages: readonly LangchainMessage[],
    options: {
      readonly maxTokens: number;
      readonly strategy: "last";
      readonly startOn: string | readonly string[];
      readonly includeSystem?: boolean;
      readonly tokenCounter: (messages: readonly LangchainMessage[]) => number;
    },
  ): Promise<LangchainMessage[]>;
}

let loaded: Promise<LangchainMessages> | undefined;

export function langchainMessages(): Promise<LangchainMessages> {
  loaded ??= peerModule<LangchainMessages>("@langchain/core/messages");
  return loaded;
}
