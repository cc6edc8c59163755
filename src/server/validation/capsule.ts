import type * as body from "../../contract/gen/quire/v1/capsule.js";
import type * as wire from "../../contract/gen/quire/v1/capsule_service.js";
import { lanes } from "../../domain/capsule.js";
import { type Checker, checked, checkPage, checkRequestId } from "./checker.js";
import { checkContextSettings } from "./context-settings.js";

/** The bounds that the contract states for each request about capsules, checked before anything else is done. */

const name = { min: 1, max: 256 };
const maxTokens = 10_000_000;
const maxInjections = 64;
const maxCapabilities = 1_024;
const sumTolerance = 1e-6;

export const validatePutCapsule = checked<wire.PutCapsuleRequest>((checker, request) => {
  checkRequestId(checker, request.requestId);
  checker.text("name", request.name, name);
  checkBody(checker, request.body);
});

export const validateGetCapsule = checked<wire.GetCapsuleRequest>((checker, request) => {
  checker.text("name", request.name, name);
});

export const validateListCapsules = checked<wire.ListCapsulesRequest>(checkPage);

export const validateDeleteCapsule = checked<wire.DeleteCapsuleRequest>((checker, request) => {
  checkRequestId(checker, request.requestId);
  checker.text("name", request.name, name);
});

export const validateListCapsuleVersions = checked<wire.ListCapsuleVersionsRequest>((checker, request) => {
  checker.text("name", request.name, name);
  checkPage(checker, request);
});

export const validateRecordOutcome = checked<wire.RecordOutcomeRequest>((checker, request) => {
  checkRequestId(checker, request.requestId);
  checker.text("capsule", request.capsule, name);
  const { needed } = request;
  if (!needed || lanes.every((lane) => needed[lane] === 0))
    checker.wrong("needed", "must have a lane above 0");
  checkReal(checker, "score", request.score, 0, 1);
});

function checkBody(checker: Checker, body: body.CapsuleBody | undefined): void {
  if (!body?.persona) {
    checker.wrong(body ? "body.persona" : "body", "is required");
    return;
  }
  checkPersona(checker, "body.persona", body.persona);
  if (body.learned?.lanePreferences) {
    checkLanes(checker, "body.learned.lane_preferences", body.learned.lanePreferences);
  }
  if (body.governance) {
    checkCapabilities(checker, "body.governance.denied_capabilities", body.governance.deniedCapabilities);
  }
  checkContextSettings(checker, "body.settings", body.settings);
}

function checkPersona(checker: Checker, field: string, persona: body.Persona): void {
  checker.text(`${field}.core_prompt`, persona.corePrompt, {
    min: 1,
    max: 1_048_576,
    unit: "bytes",
    content: true,
  });
  checker.count(`${field}.injection_prompts`, persona.injectionPrompts, 0, maxInjections);
  for (const [index, prompt] of persona.injectionPrompts.slice(0, maxInjections).entries()) {
    const at = `${field}.injection_prompts[${index}]`;
    checker.text(`${at}.trigger`, prompt.trigger, { min: 1, max: 64 });
    checker.text(`${at}.content`, prompt.content, { min: 1, max: 65_536, unit: "bytes", content: true });
  }
  if (persona.enabledCapabilities)
    checkCapabilities(checker, `${field}.enabled_capabilities.names`, persona.enabledCapabilities.names);
  const { memory, model } = persona;
  if (memory?.recallLimit !== undefined)
    checker.number(`${field}.memory.recall_limit`, memory.recallLimit, 0, 1_000);
  if (memory?.similarityThreshold !== undefined) {
    checkReal(checker, `${field}.memory.similarity_threshold`, memory.similarityThreshold, 0, 1);
  }
  if (model) checkModel(checker, `${field}.model`, model);
}

function checkModel(checker: Checker, field: string, model: body.ModelDefaults): void {
  checker.text(`${field}.model`, model.model, { max: 256 });
  checker.text(`${field}.provider`, model.provider, { max: 64 });
  if (model.temperature !== undefined) checkReal(checker, `${field}.temperature`, model.temperature, 0, 2);
  if (model.maxTokens !== undefined) checker.number(`${field}.max_tokens`, model.maxTokens, 0, maxTokens);
  if (!model.thinking) return;
  checker.number(`${field}.thinking.budget_tokens`, model.thinking.budgetTokens, 0, maxTokens);
  checker.text(`${field}.thinking.effort`, model.thinking.effort, { max: 64 });
}

function checkLanes(checker: Checker, field: string, shares: body.LaneShares): void {
  for (const lane of lanes) checkReal(checker, `${field}.${lane}`, shares[lane], 0, 1);
  const sum = lanes.reduce((total, lane) => total + shares[lane], 0);
  // A sum that is no number has had its own violation.
  if (Math.abs(sum - 1) > sumTolerance) checker.wrong(field, "must sum to 1");
}

function checkCapabilities(checker: Checker, field: string, names: readonly string[]): void {
  checker.count(field, names, 0, maxCapabilities);
  for (const [index, capability] of names.slice(0, maxCapabilities).entries()) {
    checker.text(`${field}[${index}]`, capability, name);
  }
}

/** A finite number of a range, both ends included. */
function checkReal(checker: Checker, field: string, value: number, min: number, max: number): void {
  if (!(value >= min && value <= max)) checker.wrong(field, `must be a number from ${min} to ${max}`);
}
