/** Whether a text has a block with this title in it: `.../1` is not `.../12`. */
export function saysTitle(text: string, title: string): boolean {
  if (title === "") return false;
  for (let at = text.indexOf(title); at >= 0; at = text.indexOf(title, at + 1))
    if (!/[\p{L}\p{N}]/u.test(text[at + title.length] ?? " ")) return true;
  return false;
}
