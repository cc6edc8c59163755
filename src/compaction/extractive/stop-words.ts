/** Words that say nothing by themselves; also what people say between what they mean. */
export const stopWords: ReadonlySet<string> = new Set(
  (
    "a about above absolutely actually after again all almost alright already also although always am amazing an and any anything are aren't around as at aw awesome away " +
    "back be became because been before being best better between bit both but by bye can can't cause check come congrats congratulations cool could couldn't " +
    "day definitely did didn't do does doesn't doing don't done down during each either else enjoy even ever every everything exactly excited " +
    "far feel feeling feels felt few for from fun get gets getting give glad go goes going gonna good got gotta great guess had haha happy hard has hasn't have haven't having he he'd he'll he's hear heard hello help her here here's hers hey hi him his hope how how's however " +
    "i i'd i'll i'm i've if important in incredible inspiring into is isn't it it'll it's its itself just keep kind knew know kudos last later let let's like likely little lol long look looking looks lot lots love lovely " +
    "made make makes making many may maybe me mean might mine more most much must my myself need never new next nice no nope not nothing now of off oh ok okay on once one only onto or other our ours out over own " +
    "people perfect please pretty probably proud quite rather really right said same saw say see seem seems seen she she'd she'll she's should so some someone something soon sorry sounds special still stuff such super sure " +
    "take taking talk tell than thank thanks that that's that'd the their theirs them then there there's these they they'd they'll they're they've thing things think this those though thought through time to today together too took totally true try trying two " +
    "under until up upon us use used very wait want wanted was wasn't way we we'd we'll we're we've well went were weren't what what's when where which while who who's whom whose why will with without won't wonderful wondering work worth would wouldn't wow " +
    "yea yeah yep yes yet you you'd you'll you're you've your yours yourself yup user assistant"
  ).split(" "),
);

export const numberWords: ReadonlySet<string> = new Set(
  "two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty sixty hundred thousand million first second third fourth fifth once twice couple dozen half".split(
    " ",
  ),
);
