import { SourceItem as WireItem } from "../contract/gen/quire/v1/source_item.js";
import { SourceConfig as WireConfig } from "../contract/gen/quire/v1/source_service.js";
import type { SourceRule } from "../domain/source.js";
import type { SourceEndpoint, SourceItem } from "../domain/source-item.js";

/** Items and sources as they are stored: in wire form, without what only the server sets. */

/** A source as it was put. */
export interface SourceConfig {
  readonly name: string;
  readonly endpoint: SourceEndpoint | undefined;
  readonly rule: SourceRule | undefined;
  readonly description: string;
}

export function encodeItem(item: SourceItem): Buffer {
  return Buffer.from(WireItem.encode({ ...(item as WireItem), updateTime: undefined }).finish());
}

export function decodeItem(bytes: Uint8Array): SourceItem {
  return WireItem.decode(bytes);
}

export function encodeConfig(config: SourceConfig): Buffer {
  return Buffer.from(WireConfig.encode(config as WireConfig).finish());
}

export function decodeConfig(bytes: Uint8Array): SourceConfig {
  return WireConfig.decode(bytes);
}
