import type { MethodDefinition, RequestOf, ResponseOf, ServiceDefinition } from "../contract/service.js";
import type { WriteKey } from "../storage/stored-answers.js";
import type { CallContext } from "./call/call-context.js";
import type { EncodedResponse } from "./encoded-response.js";

/** What a call that writes has besides. */
export interface WriteContext<Answer> extends CallContext {
  readonly key: WriteKey<Answer>;
}

/** What answers the methods of a service, by their names. */
export type CommandsOf<Service extends ServiceDefinition> = {
  readonly [Name in keyof Service["methods"]]: CommandOf<Service["methods"][Name]>;
};

type CommandOf<Method extends MethodDefinition> = (
  request: RequestOf<Method>,
  context: RequestOf<Method> extends { readonly requestId: string }
    ? WriteContext<ResponseOf<Method>>
    : CallContext,
) => Method["responseStream"] extends true
  ? AsyncIterable<ResponseOf<Method> | EncodedResponse>
  : Promise<ResponseOf<Method> | EncodedResponse>;
