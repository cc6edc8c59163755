import type { LaneShares } from "../../../contract/gen/quire/v1/capsule.js";
import type { RecordOutcomeRequest } from "../../../contract/gen/quire/v1/capsule_service.js";
import { lanes } from "../../../domain/capsule.js";
import type { Checker } from "../checker.js";

const sumTolerance = 1e-6;

export const capsuleChecks = {
  // Fields against each other. A sum that is no number has had its own violation.
  LaneShares: (checker: Checker, shares: LaneShares) => {
    const sum = lanes.reduce((total, lane) => total + shares[lane], 0);
    if (Math.abs(sum - 1) > sumTolerance) checker.wrong("", "must sum to 1");
  },
  // At least one of several.
  RecordOutcomeRequest: (checker: Checker, { needed }: RecordOutcomeRequest) => {
    if (!needed || lanes.every((lane) => needed[lane] === 0))
      checker.wrong("needed", "must have a lane above 0");
  },
};
