/** The words of a text, in lower case, without what most texts have. */
export function termsOf(text: string): string[] {
  return (text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []).filter((term) => !common.has(term));
}

const common = new Set(
  "a an and are as at be but by can could do does for from had has have how i if in is it its me my of on or our should so that the their them then there they this to us was we what when where which who will with would you your".split(
    " ",
  ),
);

/** How many of the words of a text a question may be about: those beyond are not looked at. */
const maxTerms = 2_000;

export interface Ranked<T> {
  readonly item: T;
  readonly score: number;
}

/**
 * Items by what they have in common with a question: words that few items have count for more, and words of the title twice. Those without any
 * are left out.
 */
export function rankByTerms<T>(
  question: string,
  items: readonly T[],
  textOf: (item: T) => { readonly title: string; readonly body: string },
): Ranked<T>[] {
  const wanted = new Set(termsOf(question).slice(0, maxTerms));
  if (wanted.size === 0) return [];
  const texts = items.map((item) => {
    const { title, body } = textOf(item);
    return { title: new Set(termsOf(title)), body: new Set(termsOf(body)) };
  });
  const holders = new Map<string, number>();
  for (const { title, body } of texts)
    for (const term of wanted)
      if (title.has(term) || body.has(term)) holders.set(term, (holders.get(term) ?? 0) + 1);
  const weight = (term: string) => Math.log(1 + items.length / holders.get(term)!);
  const ranked = items.map((item, index) => {
    const { title, body } = texts[index]!;
    let score = 0;
    for (const term of holders.keys()) {
      if (title.has(term)) score += 2 * weight(term);
      else if (body.has(term)) score += weight(term);
    }
    return { item, score, index };
  });
  return ranked
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.index - b.index)
    .map(({ item, score }) => ({ item, score }));
}
