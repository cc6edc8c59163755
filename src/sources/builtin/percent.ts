/** A change in percent, with its sign and two places. */
export function signedPercent(change: number): string {
  const text = (change * 100).toFixed(2);
  return change >= 0 && !text.startsWith("-") ? `+${text}` : text;
}

/** A number with thousands apart, and at most two places. */
export function shownNumber(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: Math.abs(value) < 1 ? 6 : 2 });
}

const money = /^[\p{Sc}]/u;

/** The number with its unit, on the side where that belongs. */
export function withUnit(value: number, unit: string): string {
  const number = shownNumber(Math.abs(value));
  const sign = value < 0 ? "-" : "";
  if (unit === "") return sign + number;
  if (money.test(unit)) return `${sign}${unit}${number}`;
  return unit === "%" ? `${sign}${number}%` : `${sign}${number} ${unit}`;
}
