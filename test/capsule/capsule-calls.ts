import { credentials, type ServiceError } from "@grpc/grpc-js";
import { CapsuleBody } from "../../src/contract/gen/quire/v1/capsule.js";
import * as wire from "../../src/contract/gen/quire/v1/capsule_service.js";

const requests = {
  putCapsule: wire.PutCapsuleRequest,
  getCapsule: wire.GetCapsuleRequest,
  listCapsules: wire.ListCapsulesRequest,
  deleteCapsule: wire.DeleteCapsuleRequest,
  listCapsuleVersions: wire.ListCapsuleVersionsRequest,
  recordOutcome: wire.RecordOutcomeRequest,
};

type Name = keyof typeof requests;
type PartialRequest<N extends Name> = Parameters<(typeof requests)[N]["create"]>[0];
type Answer<N extends Name> = ReturnType<(typeof wire.CapsuleServiceService)[N]["responseDeserialize"]>;
type Callback = (error: ServiceError | null, response: unknown) => void;

export type CapsuleCalls = {
  readonly [N in Name]: (request?: PartialRequest<N>) => Promise<Answer<N>>;
} & { close(): void };

/** CapsuleService through the generated client, as promises. */
export function connectCapsules(address: string): CapsuleCalls {
  const client = new wire.CapsuleServiceClient(address, credentials.createInsecure(), {
    "grpc.use_local_subchannel_pool": 1,
  });
  const call = (name: Name) => (request: object | undefined) =>
    new Promise((resolve, reject) => {
      const full = requests[name].create((request ?? {}) as never);
      const send = client[name].bind(client) as unknown as (request: object, callback: Callback) => void;
      send(full, (error, response) => (error ? reject(error) : resolve(response)));
    });
  const calls = Object.fromEntries((Object.keys(requests) as Name[]).map((name) => [name, call(name)]));
  return { ...calls, close: () => client.close() } as unknown as CapsuleCalls;
}

type Persona = NonNullable<Parameters<typeof CapsuleBody.create>[0]>["persona"];

/** A body that is as short as it may be, with whatever else the test is about. */
export function body(
  persona: Persona = {},
  rest: Parameters<typeof CapsuleBody.create>[0] = {},
): CapsuleBody {
  return CapsuleBody.create({ persona: { corePrompt: "You are Atlas.", ...persona }, ...rest });
}

/** A body whose governance lets it learn. */
export function learner(rest: Parameters<typeof CapsuleBody.create>[0] = {}): CapsuleBody {
  return body({}, { governance: { learningAllowed: true }, ...rest });
}
