/** How strongly the words of a sentence say that it is worth keeping, from 0 to about 3, by what it would be kept as. */
export interface Cues {
  /** A wish, an instruction, a rule or a preference. */
  readonly goal: number;
  /** A decision, a reason, an error, something about a person. */
  readonly fact: number;
  /** Something that is still to be done. */
  readonly open: number;
}

const cue = (words: string) => new RegExp(`(?<![\\p{L}\\p{N}])(?:${words})(?![\\p{L}\\p{N}])`, "iu");

const strongGoal = cue(
  "please|make sure|you must(?!'ve| have| be)|it must(?!'ve| have| be)|must not|(?:do not|don't) want|i want you|i need you|i(?:'d| would) like (?:you )?to|i(?:'m| am) (?:looking|trying|hoping) to|can you|could you|would you|help me|my goal|the goal|requirements?|ensure|only use|rule|bitte|immer|niemals|ich möchte|ich will|s'il (?:vous|te) pla[iî]t|je veux|je voudrais|toujours|jamais|por favor|quiero|quisiera|siempre|nunca|per favore|voglio|sempre",
);
const imperative =
  /(?:^|[,;:.] |\b(?:you|and|but) )(?:always|never|(?:do not|don't)(?! (?:worry|forget|know|think|mind|have)))\b/iu;
const weakGoal = cue(
  "i want|i need|we need|should|let's|prefer(?:s|red|ence)?|instead|rather than|goal|plan(?:ning)? to|required?|at (?:most|least)|as soon as|deadline|muss|soll|lieber|nicht|préfère|il faut|prefiero|necesito|debe",
);
const wideGoal =
  /请|請|必须|必須|不要|总是|總是|永远|我想|我要|希望|ください|必ず|しないで|したい|해 ?주세요|반드시|пожалуйста|нужно|всегда|никогда/iu;

const strongFact = cue(
  "decid(?:e|ed|ing|es)|decision|agreed?|chose|chosen|confirmed|my name is|i(?:'m| am) called|call me|allerg(?:y|ic|ies)|birthday|anniversary|born|remember|important|root cause|fail(?:s|ed|ure)|errors?|exception|crash(?:ed|es)?|bug|denied|refused|cancell?ed|approved|ich heiße|entschieden|beschlossen|fehler|geburtstag|je m'appelle|décidé|erreur|anniversaire|me llamo|decidí|decidimos|error|cumpleaños|mi chiamo|deciso|errore",
);
const weakFact = cue(
  "because|since|due to|so that|turns? out|found|fixed|changed?|created?|deleted?|added|removed|moved|bought|booked|paid|got|joined|started|finished|opened|won|lost|married|engaged|pregnant|works? (?:as|at|for)|lives? in|from|named|favou?rite|loves?|hates?|never|used to|years? ago|weil|parce que|porque|perché",
);
const wideFact =
  /决定|決定|同意|因为|因為|错误|錯誤|失败|我叫|名字|生日|过敏|決め|エラー|誕生日|решил|ошибка|потому/u;

const strongOpen = cue(
  "todo|to-do|fixme|remaining|next steps?|pending|not yet|still (?:need|needs|have|has|must|open|to)|left to do|blocked|waiting (?:for|on)|follow[- ]up|unresolved|unanswered|no answer yet|open (?:items?|tasks?|questions?|issues?)|offen|ausstehend|noch nicht|il reste|à faire|pendiente|falta|da fare",
);
const wideOpen = /待办|待辦|尚未|还没|下一步|未完成|残り|осталось/u;

/** Words that mean another day than they were said on. */
const relativeTime = cue(
  "yesterday|today|tonight|tomorrow|this (?:morning|afternoon|evening|week|weekend|month|year|summer|winter|spring|fall)|(?:last|next|past|coming) (?:night|week|weekend|month|year|summer|winter|spring|fall|autumn|few|couple|(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?)|(?:\\p{L}+|\\d+) (?:days?|weeks?|months?|years?) ago|recently|just now|gestern|heute|morgen|hier|demain|ayer|mañana",
);

export function cuesIn(sentence: string): Cues {
  return {
    goal: strength(sentence, strongGoal, weakGoal, wideGoal) + (imperative.test(sentence) ? 2 : 0),
    fact: strength(sentence, strongFact, weakFact, wideFact),
    open: strongOpen.test(sentence) || wideOpen.test(sentence) ? 2 : 0,
  };
}

export function tellsRelativeTime(sentence: string): boolean {
  return relativeTime.test(sentence);
}

function strength(sentence: string, strong: RegExp, weak: RegExp, wide: RegExp): number {
  const isStrong = strong.test(sentence) || wide.test(sentence);
  return (isStrong ? 2 : 0) + (weak.test(sentence) ? 1 : 0);
}
