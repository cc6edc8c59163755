const fillers =
  "wow hey hi hello oh ah aw aww haha lol hmm well btw ok okay yeah yep yup thanks cool awesome great nice congrats so and also plus anyway definitely absolutely totally sure exactly".split(
    " ",
  );
const filler = new RegExp(
  `^(?:(?:${fillers.map((word) => `[${word[0]!.toUpperCase()}${word[0]}]${word.slice(1)}`).join("|")}|[Tt]hank you|[Bb]y the way)(?: so much| a lot| again| there)?(?:,? \\p{Lu}\\p{L}{1,20})?[,!.]+ )+(?=\\S)`,
  "u",
);

/** A sentence without the words that only begin it: "Wow, thanks Ada! I moved" says "I moved". */
export function withoutFillers(sentence: string): string {
  return sentence.replace(filler, "");
}

/** Greetings and offers of help. */
export function isEmptyTalk(text: string): boolean {
  return /^(?:hey|hi|hello|good (?:morning|afternoon|evening))\b.{0,24}$|\b(?:feel free|let me know|anything else|further (?:questions|assistance)|happy to (?:help|assist)|how (?:can|may) i (?:help|assist)|safe travels|thank you for)\b/iu.test(
    text,
  );
}

/** A question tells nothing, unless it is what the user wants. */
export function asks(text: string, isGoal: boolean): boolean {
  return !isGoal && /[?？]\W{0,3}$/u.test(text);
}

/** What an assistant says of its next call, which the call says better. */
export function isNarration(text: string): boolean {
  return (
    /[:：]$/u.test(text) ||
    /^(?:(?:okay|now|first|next|then|good|great|perfect|alright)[,.!]? )*(?:let me|let's|i'll|i will|i need to|i'm going to|now)\b/iu.test(
      text,
    )
  );
}
