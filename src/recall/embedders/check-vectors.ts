import { UnusableAnswer } from "../../endpoints/call-failure.js";

const fewestDimensions = 2;
const mostDimensions = 16_000;

/**
 * The vectors of an answer, each of length 1, or why it cannot be used: not as many as there were texts, not all of one size, not
 * numbers, or without a direction.
 */
export function checkVectors(
  answer: readonly unknown[],
  texts: number,
  dimensions: number | undefined,
): Float32Array[] {
  if (answer.length !== texts)
    throw new UnusableAnswer(`answered with ${answer.length} vectors for ${texts} texts`);
  let expected = dimensions;
  return answer.map((given) => {
    const vector = asNumbers(given);
    expected ??= vector.length;
    if (vector.length !== expected || expected < fewestDimensions || expected > mostDimensions)
      throw new UnusableAnswer(
        `answered with a vector of ${vector.length} dimensions${dimensions ? `, where it has ${dimensions}` : ""}`,
      );
    return normalized(vector);
  });
}

function asNumbers(given: unknown): ArrayLike<number> {
  if (given instanceof Float32Array) return given;
  if (Array.isArray(given) && given.every((value) => typeof value === "number")) return given;
  throw new UnusableAnswer("answered with something that is no vector");
}

function normalized(vector: ArrayLike<number>): Float32Array {
  let squares = 0;
  for (let at = 0; at < vector.length; at++) squares += vector[at]! * vector[at]!;
  // Beyond these a number of 32 bits holds the squares no more.
  if (!(squares > 1e-30 && squares < 1e30))
    throw new UnusableAnswer("answered with a vector that has no direction");
  const length = Math.sqrt(squares);
  return Float32Array.from({ length: vector.length }, (_, at) => vector[at]! / length);
}
