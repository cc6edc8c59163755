/** How often a term is in a text, as the index knows it: at least so often. */
export const tiers = [1, 2, 4] as const;
/** How often that is taken to be. */
export const tierCounts = [1, 2.4, 5] as const;

/** 53 bits that stand for a term, and for how often it is there at least. So a term of any length and script is one short key. */
export function termHash(term: string, tier: number): number {
  let a = 0x811c9dc5 ^ tier;
  let b = 0x9e3779b1 + tier;
  for (let at = 0; at < term.length; at++) {
    const code = term.charCodeAt(at);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x85ebca6b);
    b ^= b >>> 13;
  }
  a = Math.imul(a ^ (a >>> 16), 0x7feb352d);
  b = Math.imul(b ^ (b >>> 15), 0xc2b2ae35);
  return ((a ^ (a >>> 15)) >>> 0) * 2_097_152 + ((b ^ (b >>> 16)) >>> 11);
}

/** The keys of a text: each term, and again for each tier that its count reaches. */
export function termHashes(terms: ReadonlyMap<string, number>): number[] {
  const keys: number[] = [];
  for (const [term, count] of terms)
    for (const [tier, least] of tiers.entries()) if (count >= least) keys.push(termHash(term, tier));
  return keys;
}
