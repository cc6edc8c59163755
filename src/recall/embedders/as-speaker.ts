/** The words after which a name is the one that something is done to. */
const before = "with|to|for|about|of|from|by|at|on|than|like|help|helped|give|gave|told|tell|asked|ask";

const others: readonly (readonly [RegExp, string])[] = [
  [/\b(?:she|he)\b/giu, "I"],
  [/\b(?:her|his)\b/giu, "my"],
  [/\bhim\b/giu, "me"],
  [/\bhers\b/giu, "mine"],
  [/\b(?:herself|himself)\b/giu, "myself"],
  [/\bdoes I\b/giu, "do I"],
  [/\bis I\b/giu, "am I"],
  [/\bhas I\b/giu, "have I"],
  [/\bI is\b/gu, "I am"],
  [/\bI has\b/gu, "I have"],
  [/\bI does\b/gu, "I do"],
];

/**
 * A question about somebody as that person would ask it: "Where did Ann go with her dog?" becomes "Where did I go with my dog?". What
 * people say of themselves is put so, and a vector of the question then lies nearer to it. Without the name in it, the question stays.
 */
export function asSpeaker(question: string, speaker: string): string {
  const name = speaker.trim().replace(/[.*+?^${}()|[\]\\]/gu, "\\$&");
  if (name === "") return question;
  const isWord = `(?<![\\p{L}\\p{N}_])${name}`;
  const ends = "(?![\\p{L}\\p{N}_])";
  const own = question
    .replace(new RegExp(`${isWord}['’]s${ends}`, "giu"), "my")
    .replace(new RegExp(`\\b(${before})\\s+${name}${ends}`, "giu"), "$1 me")
    .replace(new RegExp(`${isWord}${ends}`, "giu"), "I");
  if (own === question) return question;
  return others.reduce((text, [words, word]) => text.replace(words, word), own);
}
