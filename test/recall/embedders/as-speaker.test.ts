import { expect, test } from "vitest";
import { asSpeaker } from "../../../src/recall/embedders/as-speaker.js";

test.each([
  ["Where did Ann go with her dog?", "Where did I go with my dog?"],
  ["What does Ann's sister think of Ann?", "What does my sister think of me?"],
  ["What does ANN like?", "What do I like?"],
  ["Is Ann happy, and has she told himself?", "am I happy, and have I told myself?"],
  ["What did Bob give to Ann?", "What did Bob give to me?"],
  ["What did Anna say to Joann?", "What did Anna say to Joann?"],
  ["Where did he go?", "Where did he go?"],
])("a question about Ann as Ann would ask it: %s", (question, own) => {
  expect(asSpeaker(question, "Ann")).toBe(own);
});

test("any name and any question will do", () => {
  expect(asSpeaker("Who is José?", "José")).toBe("Who am I?");
  expect(asSpeaker("Why does 李雷 run?", "李雷")).toBe("Why do I run?");
  expect(asSpeaker("a (b", "(b")).toBe("a I");
  expect(asSpeaker("a b", " ")).toBe("a b");
});
