import type { ServiceDefinition } from "../contract/service.js";
import type { CallContext } from "./call/call-context.js";
import { canonicalForm } from "./canonical-form.js";
import type { CommandsOf, WriteContext } from "./commands.js";
import { type Method, methodsOf } from "./method.js";
import type { Rpc, StreamRpc, UnaryRpc } from "./rpc.js";
import { checked } from "./validation/engine/message-check.js";
import { type IdempotentRequest, isWrite, writeKey } from "./write-key.js";

/** The RPCs of a service, by the names of its methods. */
export interface Service<Definition extends ServiceDefinition = ServiceDefinition> {
  readonly rpcs: { readonly [Name in keyof Definition["methods"]]: Rpc };
}

/** A command of which no more is known than that it takes the requests of its method. */
type AnyCommand = (request: object, context: CallContext | WriteContext<unknown>) => unknown;

/** A service from its commands: all else follows from the contract, but which of its streams have no end of their own (`endless`). */
export function service<Definition extends ServiceDefinition>(
  definition: Definition,
  commands: CommandsOf<Definition>,
  { endless = [] }: { readonly endless?: readonly (keyof Definition["methods"])[] } = {},
): Service<Definition> {
  const rpcs = Object.entries<Method>(methodsOf(definition)).map(([name, method]) => {
    const command = commands[name] as unknown as AnyCommand;
    return [name, rpcOf(method, command, endless.includes(name))] as const;
  });
  return { rpcs: Object.fromEntries(rpcs) as Service<Definition>["rpcs"] };
}

function rpcOf(method: Method, command: AnyCommand, isEndless: boolean): Rpc {
  const validate = checked(method.input);
  const handle = isWrite(method) ? withKey(method, command) : command;
  return method.responseStream
    ? { kind: "stream", method, validate, isEndless, handle: handle as StreamRpc["handle"] }
    : { kind: "unary", method, validate, handle: handle as UnaryRpc["handle"] };
}

function withKey(method: Method<IdempotentRequest>, command: AnyCommand): AnyCommand {
  // Made at the start, which a request without one stops.
  canonicalForm(method.input);
  return (request, context) => {
    const key = writeKey(method, context.tenantId, request as IdempotentRequest);
    return command(request, { ...context, key });
  };
}
