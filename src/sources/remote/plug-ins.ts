import type { BoundedCache } from "../../domain/bounded-cache.js";
import type { Caches } from "../../domain/caches.js";
import { megabyte } from "../../domain/memory-size.js";
import type { SourceEndpoint } from "../../domain/source-item.js";
import { type AllowedAddresses, parseAddress } from "./allowed-addresses.js";
import { PlugIn } from "./plug-in.js";

/** The connections to plug-ins, one for each that is registered. */
export class PlugIns {
  private readonly known: BoundedCache<PlugIn>;

  constructor(
    private readonly allowed: AllowedAddresses,
    caches: Caches,
  ) {
    this.known = caches.create<PlugIn>(
      "connections to plug-ins",
      4 * megabyte,
      () => 16_384,
      (plugIn) => plugIn.close(),
    );
  }

  /** Whether the operator allows an address. Asked again for each context: a server that was started anew may allow less. */
  allows(endpoint: SourceEndpoint): boolean {
    const address = parseAddress(endpoint.address);
    return address !== undefined && this.allowed.allows(address);
  }

  at(tenantId: string, name: string, endpoint: SourceEndpoint): PlugIn {
    const key = `${tenantId}/${name}/${JSON.stringify(endpoint)}`;
    let plugIn = this.known.get(key);
    if (!plugIn) {
      plugIn = new PlugIn(endpoint);
      this.known.set(key, plugIn);
    }
    return plugIn;
  }

  close(): void {
    this.known.clear();
  }
}
