import type { DescMessage } from "@bufbuild/protobuf";
import { contractRegistry } from "../contract/descriptors.js";
import {
  type MethodDefinition,
  methodPath,
  type RequestOf,
  type ResponseOf,
  type ServiceDefinition,
} from "../contract/service.js";

/** A method of the contract: its definition, where it is called, and the descriptor of its requests. */
export interface Method<Request = unknown, Response = unknown> extends MethodDefinition<Request, Response> {
  readonly path: string;
  readonly input: DescMessage;
}

export type MethodsOf<Service extends ServiceDefinition> = {
  readonly [Name in keyof Service["methods"]]: Method<
    RequestOf<Service["methods"][Name]>,
    ResponseOf<Service["methods"][Name]>
  >;
};

/** The methods of a service, by their names in the generated code. */
export function methodsOf<Service extends ServiceDefinition>(service: Service): MethodsOf<Service> {
  const { method: descriptors } = contractRegistry().getService(service.fullName)!;
  const methods = Object.entries(service.methods).map(([name, definition]): [string, Method] => [
    name,
    { ...definition, path: methodPath(service, definition), input: descriptors[name]!.input },
  ]);
  return Object.fromEntries(methods) as MethodsOf<Service>;
}
