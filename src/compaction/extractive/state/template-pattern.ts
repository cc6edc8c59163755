/** What finds the places of a template in a text that was written with it; the last of them takes all that is left. */
export function templatePattern(template: string): RegExp {
  const pieces = template.split(/\{\{(\w+)\}\}/u);
  const last = pieces.length - 2;
  const source = pieces.map((piece, at) => {
    if (at % 2 === 0) return piece.replace(/[\\^$.*+?()[\]{}|/]/gu, "\\$&");
    const any = at === last ? ".+" : ".+?";
    const isFirst = pieces.indexOf(piece) === at && /^[a-z]+$/u.test(piece);
    return isFirst ? `(?<${piece}>${any})` : any;
  });
  return new RegExp(`^${source.join("")}$`, "u");
}
