/** Where a history begins and how it is shown. Histories of one thread with the same cut begin with the same bytes. */
export interface HistoryCut {
  /** The summary that it begins with; empty for none. */
  readonly compactionId: string;
  /** The first turn of which something is shown; empty for none. */
  readonly firstTurnId: string;
  /** Stands for what was split and elided; empty where nothing was. */
  readonly fittedId: string;
  /** Stands for the words of marks; empty for the default ones. */
  readonly wordsId: string;
  /** Whether the context that was sent is left out. */
  readonly clean: boolean;
  /** Whether results were made up for calls at the head that may still be answered. */
  readonly pending: boolean;
}

const wordsMark = "words-";

/** A cut as `cut_id` of a history layer: opaque to callers. */
export function cutId(cut: HistoryCut): string {
  const begin = `${cut.compactionId === "" ? "" : `${cut.compactionId}+`}${cut.firstTurnId}`;
  if (begin === "") return "";
  const marks = [
    cut.fittedId,
    cut.wordsId && `${wordsMark}${cut.wordsId}`,
    cut.clean ? "clean" : "",
    cut.pending ? "pending" : "",
  ];
  return [begin, ...marks.filter((mark) => mark !== "")].join("/");
}

export function parseCutId(id: string): HistoryCut {
  const [begin = "", ...marks] = id.split("/");
  const summaryEnd = begin.indexOf("+");
  const words = marks.find((mark) => mark.startsWith(wordsMark));
  const named = new Set(["clean", "pending", words]);
  return {
    compactionId: begin.slice(0, Math.max(0, summaryEnd)),
    firstTurnId: begin.slice(summaryEnd + 1),
    fittedId: marks.find((mark) => !named.has(mark)) ?? "",
    wordsId: words?.slice(wordsMark.length) ?? "",
    clean: marks.includes("clean"),
    pending: marks.includes("pending"),
  };
}

/** Whether two histories begin alike, whatever is still open at their ends. */
export function beginAlike(a: string, b: string): boolean {
  const begin = (id: string) => cutId({ ...parseCutId(id), pending: false });
  return begin(a) === begin(b);
}
