import { type FieldSchema, FieldType } from "../../domain/memory.js";
import type { Section } from "../schema/sections.js";

/** The kinds of containers that a block's document has. All are at its root: nothing is ever nested. */
export type RootKind = "Text" | "Map" | "List" | "MovableList" | "Counter";

export interface Root {
  readonly name: string;
  readonly kind: RootKind;
}

/** Names of fields and sections hold no colon, so that these are told apart. */
const prefixOf = ({ name }: Pick<Section, "name">) => (name === "" ? "" : `section:${name}:`);

export const textRoot = (section: Pick<Section, "name">): string => `${prefixOf(section)}text`;
/** Fields that hold one value, by their name. */
export const fieldsRoot = (section: Pick<Section, "name">): string => `${prefixOf(section)}fields`;
export const listFieldRoot = (section: Pick<Section, "name">, field: string): string =>
  `${prefixOf(section)}list:${field}`;
export const counterRoot = (section: Pick<Section, "name">, field: string): string =>
  `${prefixOf(section)}counter:${field}`;
export const itemsRoot = (section: Pick<Section, "name">): string => `${prefixOf(section)}items`;
export const entriesRoot = (section: Pick<Section, "name">): string => `${prefixOf(section)}entries`;

/** Where a field of a map is kept. */
export function fieldRoot(section: Pick<Section, "name">, { name, type }: FieldSchema): Root {
  if (type === FieldType.LIST) return { name: listFieldRoot(section, name), kind: "List" };
  if (type === FieldType.COUNTER) return { name: counterRoot(section, name), kind: "Counter" };
  return { name: fieldsRoot(section), kind: "Map" };
}
