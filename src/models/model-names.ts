/** The names under which a model may be in the catalogue. */
export interface ModelNames {
  /** From the name as it was given to the shortest. */
  readonly candidates: readonly string[];
  /** The name without what places, routes, dates and versions add to it. */
  readonly plain: string;
}

/** Bedrock's: a region, and who made the model. */
const vendor =
  /^(?:[a-z]{2,6}(?:-[a-z]+)?\.)?(?:anthropic|openai|google|meta|mistral|cohere|deepseek|qwen)\./;
/** Fine-tuned models of OpenAI: the model, then whose it is. */
const tuned = /^ft:([^:]+):.*$/;
/** What routers say besides the model, as in :free, and Bedrock of its window, as in :200k. */
const variant = /(?::[a-z][a-z0-9-]*|:\d+k|\[1m\])$/;
const bedrockVersion = /-v\d+:\d+$/;
const claudeVersion = /^(claude-.+)-v\d+$/;
/** Claude's version first, as some write it. */
const claudeTurned = /^claude-([4-9]|[4-9]-\d)-(opus|sonnet|haiku)$/;

/** What providers put at the end of a name to say which state of a model is meant. */
const states = [
  /(?:[-@]\d{8}|-\d{4}-\d{2}-\d{2})$/,
  /@(?:latest|default|\d{3})$/,
  /-latest$/,
  /-(?:preview|exp|experimental)(?:-\d{2}-\d{2}|-\d{2}-\d{4}|-\d{4})?$/,
  /-0\d\d$/,
];
/** As in gpt-4-0613. Such digits may be anything else: they are a date only where a model is found without them. */
const monthAndDay = /-(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])$/;
const mostStates = 4;

export function modelNames(model: string): ModelNames {
  const candidates = [model];
  const add = (name: string) => {
    if (name !== "" && !candidates.includes(name)) candidates.push(name);
    return name;
  };
  let name = add(placeless(model));
  for (let round = 0; round < mostStates; round++) {
    const state = states.find((pattern) => pattern.test(name));
    if (!state) break;
    name = add(withoutVersion(name.replace(state, "")));
  }
  add(name.replace(monthAndDay, ""));
  return { candidates, plain: name };
}

/** A name without where the model is served. */
function placeless(model: string): string {
  const last = model.toLowerCase().replace(/^.*\//, "");
  const own = last.replace(tuned, "$1").replace(vendor, "").replace(variant, "").replace(variant, "");
  return withoutVersion(own.replace(bedrockVersion, ""));
}

function withoutVersion(name: string): string {
  if (!name.startsWith("claude-")) return name;
  const dashed = name.replace(/(\d)\.(\d)/g, "$1-$2").replace(claudeVersion, "$1");
  return dashed.replace(claudeTurned, "claude-$2-$1");
}
