import { type CapsuleBody, CapsuleCause, type LaneTokens } from "../domain/capsule.js";
import { toMicroseconds } from "../domain/clock.js";
import { QuireError } from "../errors/quire-error.js";
import type { WriteKey } from "../storage/stored-answers.js";
import { decodeBody } from "./capsule-codec.js";
import { capsuleNotFound } from "./capsule-reader.js";
import type { CapsuleDeps } from "./capsules.js";
import type { KnobTable } from "./knob-table.js";
import { deriveSettings } from "./knobs.js";
import { learn } from "./learning.js";
import type { CapsuleAnswer } from "./put-capsule.js";
import { writeVersion } from "./write-version.js";

export interface RecordOutcome {
  readonly capsule: string;
  readonly needed: LaneTokens;
  readonly score: number;
}

/** Moves the lane preferences of a capsule a little toward what a turn needed, as a new version. */
export async function recordOutcome(
  deps: CapsuleDeps,
  key: WriteKey<CapsuleAnswer>,
  command: RecordOutcome,
): Promise<CapsuleAnswer> {
  const nowUs = toMicroseconds(deps.clock.now());
  return deps.store.write(key, nowUs, async (capsules) => {
    const name = command.capsule;
    const next = await capsules.nextVersion(name);
    if (!next) throw capsuleNotFound(name);
    const before = decodeBody(await capsules.readBody(next.id, next.version - 1));
    if (!before.governance?.learningAllowed) {
      throw new QuireError(
        "LEARNING_DISABLED",
        `the capsule ${JSON.stringify(name)} does not allow learning`,
        {
          metadata: { capsule: name },
        },
      );
    }
    const body = withOutcome(before, command, deps.knobTable);
    const capsule = await writeVersion(capsules, { ...next, name, body, cause: CapsuleCause.LEARNED, nowUs });
    return { answer: { capsule }, capsuleId: next.id };
  });
}

const maxOutcomes = 2 ** 32 - 1;

function withOutcome(body: CapsuleBody, { needed, score }: RecordOutcome, table: KnobTable): CapsuleBody {
  const { learned } = body;
  const { lanes } = deriveSettings(body, table);
  // A turn that taught nothing leaves a capsule that has learned nothing with the lanes of its intelligence.
  const lanePreferences =
    score === 0 ? learned?.lanePreferences : learn(lanes, needed, score, table.learningRate);
  return {
    ...body,
    learned: { lanePreferences, outcomes: Math.min(maxOutcomes, (learned?.outcomes ?? 0) + 1) },
  };
}
