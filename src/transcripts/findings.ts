/** Something odd in a transcript: what it is, how often it was there, and where, for the first few. */
export interface Finding {
  readonly what: string;
  readonly count: number;
  readonly where: readonly string[];
}

const whereShown = 3;

/** Counts what an import or export could not carry over as it was, so that nothing is dropped in silence. */
export class Findings {
  private readonly byKind = new Map<string, Map<string, number>>();

  add(what: string, where = "", count = 1): void {
    const places = this.byKind.get(what) ?? new Map<string, number>();
    places.set(where, (places.get(where) ?? 0) + count);
    this.byKind.set(what, places);
  }

  /** Takes over what another reading of the same file found, leaving out what is known: branches share a trunk. */
  merge(other: Findings): void {
    for (const [what, places] of other.byKind) {
      const known = this.byKind.get(what) ?? new Map<string, number>();
      for (const [where, count] of places) if (!known.has(where)) known.set(where, count);
      this.byKind.set(what, known);
    }
  }

  list(): readonly Finding[] {
    return [...this.byKind].map(([what, places]) => ({
      what,
      count: [...places.values()].reduce((sum, count) => sum + count, 0),
      where: [...places.keys()].filter((where) => where !== "").slice(0, whereShown),
    }));
  }
}
