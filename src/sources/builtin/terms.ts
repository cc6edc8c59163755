/** The words of a text, in lower case, without what most texts have. */
export function termsOf(text: string): string[] {
  return (text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []).filter((term) => !common.has(term));
}

const common = new Set(
  "a an and are as at be but by can could do does for from had has have how i if in is it its me my of on or our should so that the their them then there they this to us was we what when where which who will with would you your".split(
    " ",
  ),
);
