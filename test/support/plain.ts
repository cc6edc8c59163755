/** A type whose numbers have no unit, so that tests can write them as they are. */
export type Plain<T> = { readonly [Key in keyof T]: T[Key] extends number ? number : T[Key] };
