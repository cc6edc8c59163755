declare const unit: unique symbol;

/** Tokens as a vocabulary counts them: o200k_base where nothing else is said. */
export type CountedTokens = number & { readonly [unit]: "counted" };

/** Tokens as a model will count them: what a budget is reckoned in. `scaled` makes them of counted ones, `unscaled` takes them back. */
export type ModelTokens = number & { readonly [unit]: "model" };

type Tokens = CountedTokens | ModelTokens;

/** A number that was counted, or read from where counts are stored. */
export function countedTokens(tokens: number): CountedTokens {
  return tokens as CountedTokens;
}

/** A number that is given in a model's tokens: limits, reserves, what a receipt says. */
export function modelTokens(tokens: number): ModelTokens {
  return tokens as ModelTokens;
}

/** Both in the same unit, which the compiler checks. */
export function plus<T extends Tokens>(a: T, b: NoInfer<T>): T {
  return (a + b) as T;
}

export function minus<T extends Tokens>(a: T, b: NoInfer<T>): T {
  return (a - b) as T;
}

export function least<T extends Tokens>(a: T, b: NoInfer<T>): T {
  return Math.min(a, b) as T;
}

export function atLeast<T extends Tokens>(tokens: T, floor: number): T {
  return Math.max(tokens, floor) as T;
}

/** A share of tokens, rounded down. */
export function shareOf<T extends Tokens>(tokens: T, share: number): T {
  return Math.floor(tokens * share) as T;
}

/** Whether tokens fit into a room of the same unit. */
export function fits<T extends Tokens>(tokens: T, room: NoInfer<T>): boolean {
  return tokens <= room;
}

/** What items cost together, in the unit of each. */
export function sumOf<Item, T extends Tokens>(items: readonly Item[], of: (item: Item) => T): T {
  let sum = 0;
  for (const item of items) sum += of(item);
  return sum as T;
}
