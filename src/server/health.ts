import type { Server } from "@grpc/grpc-js";
import { HealthImplementation, service as healthService } from "grpc-health-check";
import { services } from "../contract/services.js";

const names = ["", ...Object.values(services).map(({ fullName }) => fullName)];

/**
 * Health, by the official package. When the server is told to stop, those who watch it hear so and are let go: their
 * calls have no end of their own, and would hold up the shutdown. A server that lost its database is there, but serves nobody well.
 */
export function addHealth(server: Server, draining: AbortSignal, lost: AbortSignal): void {
  const health = new HealthImplementation(Object.fromEntries(names.map((name) => [name, "SERVING"])));
  const watched = new Set<{ end(): void }>();
  health.addToServer({
    addService: (_: typeof healthService, handlers: Parameters<Server["addService"]>[1]) => {
      const watch = handlers.watch as (call: WatchCall) => void;
      server.addService(healthService, {
        ...handlers,
        watch: (call: WatchCall) => {
          watched.add(call);
          call.on("cancelled", () => watched.delete(call));
          watch(call);
        },
      });
    },
  } as unknown as Server);
  const setNotServing = () => {
    for (const name of names) health.setStatus(name, "NOT_SERVING");
  };
  lost.addEventListener("abort", setNotServing);
  draining.addEventListener("abort", () => {
    setNotServing();
    for (const call of watched) call.end();
  });
}

interface WatchCall {
  on(event: "cancelled", listener: () => void): void;
  end(): void;
}
