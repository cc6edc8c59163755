/** A day, or a span of days, that a question names: times in milliseconds, the end not in it. */
export interface NamedSpan {
  readonly fromMs: number;
  readonly toMs: number;
  /** Over how many days after it what is said may still be about it. */
  readonly fadeDays: number;
}

const dayMs = 86_400_000;
const months = "january february march april may june july august september october november december".split(
  " ",
);
const monthPattern = `(${months.join("|")}|${months.map((name) => name.slice(0, 3)).join("|")}|sept)\\.?`;
const dayMonthYear = new RegExp(
  `\\b(\\d{1,2})(?:st|nd|rd|th)?(?:\\s+of)?\\s+${monthPattern}(?:,?\\s+(\\d{4}))?\\b`,
  "gi",
);
const monthDayYear = new RegExp(
  `\\b${monthPattern}\\s+(\\d{1,2})(?:st|nd|rd|th)?(?:,?\\s+(\\d{4}))?\\b(?!\\d)`,
  "gi",
);
const monthYear = new RegExp(`\\b${monthPattern},?\\s+(\\d{4})\\b`, "gi");
const inMonth = new RegExp(
  `\\b(?:in|during|since|last|this|of)\\s+(?:early\\s+|late\\s+|mid-?\\s*)?${monthPattern}(?!\\s+\\d)\\b`,
  "gi",
);
const iso = /\b(\d{4})-(\d{2})(?:-(\d{2}))?\b/g;
const relative = /\b(today|yesterday|last week|this week|last month|this month)\b/gi;

/** The spans that a text names. What has no year is taken as the last one before `nowMs`. */
export function namedSpans(text: string, nowMs: number): NamedSpan[] {
  const spans: NamedSpan[] = [];
  let rest = text.slice(0, 10_000);
  const take = (pattern: RegExp, read: (match: RegExpExecArray) => NamedSpan | undefined) => {
    rest = rest.replace(pattern, (...found) => {
      const span = read(found as unknown as RegExpExecArray);
      if (span) spans.push(span);
      return span ? " " : String(found[0]);
    });
  };
  take(iso, ([, year, month, date]) =>
    date === undefined
      ? monthSpan(Number(year), Number(month) - 1)
      : daySpan(Number(year), Number(month) - 1, Number(date)),
  );
  take(dayMonthYear, ([, date, month, year]) => dayOf(year, monthOf(month), Number(date), nowMs));
  take(monthYear, ([, month, year]) => monthSpan(Number(year), monthOf(month)));
  take(monthDayYear, ([, month, date, year]) => dayOf(year, monthOf(month), Number(date), nowMs));
  take(inMonth, ([, month]) => {
    const now = new Date(nowMs);
    const index = monthOf(month);
    return monthSpan(now.getUTCFullYear() - (index > now.getUTCMonth() ? 1 : 0), index);
  });
  take(relative, ([, words]) => relativeSpan(words!.toLowerCase(), nowMs));
  return spans;
}

/** 1 inside a span, falling to 0 over the days after it. */
export function closeness(spans: readonly NamedSpan[], timeMs: number): number {
  let best = 0;
  for (const { fromMs, toMs, fadeDays } of spans) {
    if (timeMs < fromMs) continue;
    const value = timeMs < toMs ? 1 : 1 - (timeMs - toMs) / (fadeDays * dayMs);
    if (value > best) best = value;
  }
  return best;
}

function monthOf(name: string | undefined): number {
  return months.findIndex((month) => month.startsWith((name ?? "").toLowerCase().slice(0, 3)));
}

function daySpan(year: number, month: number, date: number): NamedSpan | undefined {
  const fromMs = Date.UTC(year, month, date);
  const isDay = date >= 1 && new Date(fromMs).getUTCDate() === date;
  return isDay ? { fromMs, toMs: fromMs + dayMs, fadeDays: 14 } : undefined;
}

function dayOf(year: string | undefined, month: number, date: number, nowMs: number): NamedSpan | undefined {
  if (year !== undefined) return daySpan(Number(year), month, date);
  const thisYear = new Date(nowMs).getUTCFullYear();
  const span = daySpan(thisYear, month, date);
  return span && span.fromMs > nowMs ? daySpan(thisYear - 1, month, date) : span;
}

function monthSpan(year: number, month: number): NamedSpan | undefined {
  if (month < 0 || month > 11 || year < 1900 || year > 2200) return undefined;
  return { fromMs: Date.UTC(year, month, 1), toMs: Date.UTC(year, month + 1, 1), fadeDays: 21 };
}

function relativeSpan(words: string, nowMs: number): NamedSpan {
  const today = Math.floor(nowMs / dayMs) * dayMs;
  const now = new Date(nowMs);
  const weekday = (now.getUTCDay() + 6) % 7;
  const span = (fromMs: number, toMs: number, fadeDays: number) => ({ fromMs, toMs, fadeDays });
  switch (words) {
    case "today":
      return span(today, today + dayMs, 14);
    case "yesterday":
      return span(today - dayMs, today, 14);
    case "this week":
      return span(today - weekday * dayMs, today + (7 - weekday) * dayMs, 14);
    case "last week":
      return span(today - (weekday + 7) * dayMs, today - weekday * dayMs, 14);
    default: {
      const month = now.getUTCMonth() - (words === "last month" ? 1 : 0);
      return span(Date.UTC(now.getUTCFullYear(), month, 1), Date.UTC(now.getUTCFullYear(), month + 1, 1), 21);
    }
  }
}
