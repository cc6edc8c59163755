import { AssembledContext } from "./gen/quire/v1/assembly.js";
import type { AssembleResponse } from "./gen/quire/v1/assembly_service.js";

/** Puts the stream together. What was sent is final, so each layer can be used as soon as it is there. */
export async function fold(responses: AsyncIterable<AssembleResponse>): Promise<AssembledContext> {
  const context = AssembledContext.create();
  for await (const { event } of responses) {
    switch (event?.$case) {
      case "resolved": {
        const { assemblyId, parentTurnId, model, budget } = event.value;
        Object.assign(context, { assemblyId, parentTurnId, model });
        console.log(`resolved   ${model}, ${budget?.available} tokens available`);
        break;
      }
      case "tools":
        context.tools = event.value.tools;
        console.log(`tools      ${event.value.tokens} tokens`);
        break;
      case "system":
        context.systemPrompt = event.value.text;
        console.log(
          `system     ${event.value.tokens} tokens: ${event.value.sections.map(({ name }) => name).join(", ")}`,
        );
        break;
      case "history":
        context.history.push(...event.value.messages);
        // The first batch describes the whole layer.
        if (event.value.layer)
          console.log(`history    ${event.value.layer.tokens} tokens: ${event.value.layer.turns} turns`);
        break;
      case "currentMessage":
        context.currentMessage = event.value.message;
        console.log(`current    ${event.value.tokens} tokens`);
        break;
      case "completed":
        context.tokenBudget = event.value.budget;
        console.log(
          `completed  ${event.value.budget?.used?.total} tokens used, ${event.value.budget?.remaining} left`,
        );
    }
  }
  return context;
}
