// The rules of a field in words, as the comments of the published contract have them.

const shown = (number) => Number(number).toLocaleString("en");

function range(min, max, unit) {
  const of = unit ? ` ${unit}` : "";
  if (min === undefined) return max === undefined ? undefined : `at most ${shown(max)}${of}`;
  if (max === undefined) return `at least ${shown(min)}${of}`;
  return Number(min) === Number(max) ? `${shown(min)}${of}` : `${shown(min)} to ${shown(max)}${of}`;
}

const patterns = { "^\\P{Cc}*$": "no control characters", "^[^\\x00]*$": "no NUL character" };

function text({ minLen, maxLen, minBytes, maxBytes, pattern, in: values }) {
  return [
    maxBytes === undefined
      ? range(minLen, maxLen, "characters")
      : range(minBytes ?? minLen, maxBytes, "bytes"),
    values && `one of ${values.map((value) => `"${value}"`).join(", ")}`,
    pattern && (patterns[pattern] ?? `matches ${pattern}`),
  ];
}

function value(rules, type) {
  const number = rules.double ?? rules.int32 ?? rules.uint32 ?? rules.uint64;
  const refused = rules.enum?.notIn?.map(
    (number) => type.values.find((entry) => entry.number === number).name,
  );
  return [
    ...(rules.string ? text(rules.string) : []),
    rules.bytes && range(rules.bytes.minLen, rules.bytes.maxLen, "bytes"),
    number && range(number.gte, number.lte),
    refused && `any value but ${refused.join(" and ")}`,
    rules.bool && `${rules.bool.const} where it is set`,
  ]
    .filter(Boolean)
    .join(", ");
}

/** A size as it follows a noun. */
const sized = (words) => (/^(\d|at )/.test(words) ? `of ${words}` : words);

/** Whether the rules refuse what a field holds that nobody set. */
function refusesZero({ string, bytes, enum: values, ...rules }) {
  const number = rules.double ?? rules.int32 ?? rules.uint32 ?? rules.uint64;
  const least = string?.minLen ?? string?.minBytes ?? bytes?.minLen ?? number?.gte ?? 0;
  return Number(least) > 0 || values?.notIn?.includes(0);
}

/** A sentence or two; undefined where there is nothing to say. A value of an enum is always one that the enum has. */
export function boundsInWords(rules, type, { isOptional = false } = {}) {
  const { repeated, map } = rules;
  const own = value(rules, type);
  const items = repeated?.items && value(repeated.items, type);
  const keys = map?.keys && value(map.keys);
  const values = map?.values && value(map.values);
  const bounds = [
    own,
    [range(repeated?.minItems, repeated?.maxItems, "items"), items && `each ${sized(items)}`]
      .filter(Boolean)
      .join(", "),
    range(undefined, map?.maxPairs, "entries"),
    keys && `keys ${sized(keys)}`,
    values && `values ${sized(values)}`,
  ].filter(Boolean);
  const mayBeEmpty = rules.ignore === "IGNORE_IF_ZERO_VALUE" ? ", or left out" : "";
  const ifSet = isOptional && !rules.required && refusesZero(rules) ? ", if set" : "";
  const sentences = [
    rules.required && "Required.",
    bounds.length > 0 && `Bounds: ${bounds.join("; ")}${mayBeEmpty}${ifSet}.`,
  ].filter(Boolean);
  return sentences.length > 0 ? sentences.join(" ") : undefined;
}
