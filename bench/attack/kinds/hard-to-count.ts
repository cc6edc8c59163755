import {
  AssemblyServiceService,
  CountTokensRequest,
} from "../../../src/contract/gen/quire/v1/assembly_service.js";
import type { Attack } from "../attack.js";
import { someAtOnce } from "../target.js";

const million = 1_000_000;
const texts: readonly string[] = [
  "a".repeat(million),
  "漢字仮名交".repeat(million / 5),
  "<|endoftext|><|im_start|>".repeat(million / 25),
  " ".repeat(million),
  "👩‍👩‍👧‍👦".repeat(million / 11),
];

/** Texts that a tokenizer has most trouble with. */
export const hardToCount: Attack = {
  async prepare({ caller }) {
    const requests = [...texts, ...texts].map((text) => CountTokensRequest.create({ texts: [text] }));
    return (signal) =>
      someAtOnce(requests, 5, (request) => caller.call(AssemblyServiceService.countTokens, request), signal);
  },
};
