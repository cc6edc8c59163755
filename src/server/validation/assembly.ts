import type { AgentEvent } from "../../contract/gen/quire/v1/assembly.js";
import type * as wire from "../../contract/gen/quire/v1/assembly_service.js";
import { BodyFormat } from "../../contract/gen/quire/v1/rendering.js";
import { Checker, checked, checkPage, checkRequestId } from "./checker.js";
import { checkContextSettings } from "./context-settings.js";
import { checkPart } from "./messages.js";
import { checkRuntime, checkToolRules, checkTools } from "./workspace.js";

/** The bounds that the contract states for each request of the assembly, checked before anything else is done. */

const name = { min: 1, max: 256 };
const promptBytes = { max: 1_048_576, unit: "bytes", content: true } as const;
const noteBytes = { max: 65_536, unit: "bytes", content: true } as const;
const eventParts = ["text", "image", "file", "opaque"];
const maxTextBytes = 16 * 1024 * 1024;
const maxBodyBytes = 32 * 1024 * 1024;

export function validateContext(request: { readonly context?: wire.ContextRequest | undefined }): void {
  const checker = new Checker();
  if (request.context) checkContext(checker, request.context);
  else checker.wrong("context", "is required");
  checker.done();
}

function checkContext(checker: Checker, context: wire.ContextRequest): void {
  checker.text("context.session", context.session, name);
  if (context.capsule !== undefined) checker.text("context.capsule", context.capsule, name);
  if (context.role !== undefined) checker.known("context.role", context.role);
  checker.known("context.render", context.render);
  checker.text("context.workspace", context.workspace ?? "", { max: 256 });
  checker.text("context.toolset", context.toolset ?? "", { max: 256 });
  checkTools(checker, "context.tools", context.tools);
  checkToolRules(checker, "context.tool_rules", context.toolRules);
  checker.names("context.permissions_granted", context.permissionsGranted);
  checker.text("context.base_instructions", context.baseInstructions, promptBytes);
  checker.text("context.task", context.task, noteBytes);
  checker.count("context.scoped_capabilities", context.scopedCapabilities, 0, 1_024);
  for (const [index, capability] of context.scopedCapabilities.entries()) {
    checker.text(`context.scoped_capabilities[${index}]`, capability, name);
  }
  checker.text("context.model", context.model ?? "", { max: 256 });
  checker.text("context.provider", context.provider ?? "", { max: 64 });
  checkContextSettings(checker, "context.settings", context.settings);
  if (context.maxContextTokens !== undefined) {
    checker.number("context.max_context_tokens", context.maxContextTokens, 1, 100_000_000);
  }
  checker.known("context.replay", context.replay);
  checker.uuid("context.active_turn_id", context.activeTurnId, false);
  checker.count("context.mode_blocks", context.modeBlocks, 0, 16);
  for (const [index, block] of context.modeBlocks.entries()) {
    checker.text(`context.mode_blocks[${index}].name`, block.name, { min: 1, max: 128 });
    checker.text(`context.mode_blocks[${index}].content`, block.content, { min: 1, ...noteBytes });
  }
  checkRuntime(checker, "context.runtime", context.runtime);
  if (context.have) checker.uuid("context.have.last_turn_id", context.have.lastTurnId, false);
  if (context.event) checkEvent(checker, "context.event", context.event);
  else if (context.activeTurnId === "") checker.wrong("context.event", "is required without active_turn_id");
}

function checkEvent(checker: Checker, field: string, event: AgentEvent): void {
  checker.text(`${field}.id`, event.id, { max: 256 });
  checker.known(`${field}.source`, event.source);
  checker.count(`${field}.content`, event.content, 1, 256);
  for (const [index, part] of event.content.entries()) {
    checkPart(checker, `${field}.content[${index}]`, part);
    if (part.content && !eventParts.includes(part.content.$case)) {
      checker.wrong(`${field}.content[${index}]`, "must be text, image, file or opaque");
    }
  }
  checker.text(`${field}.timezone`, event.timezone, { max: 64 });
  checker.text(`${field}.platform`, event.platform, { max: 128 });
  checkList(checker, `${field}.actions`, event.actions, 64, { min: 1, max: 128 });
  checker.count(`${field}.hooks`, event.hooks, 0, 64);
  for (const [index, hook] of event.hooks.entries()) {
    checker.text(`${field}.hooks[${index}].name`, hook.name, { min: 1, max: 128 });
    checker.text(`${field}.hooks[${index}].content`, hook.content, { min: 1, ...noteBytes });
  }
  checker.count(`${field}.attachments`, event.attachments, 0, 256);
  for (const [index, attachment] of event.attachments.entries()) {
    checker.text(`${field}.attachments[${index}].path`, attachment.path, { min: 1, max: 4_096 });
  }
  checker.tags(`${field}.metadata`, event.metadata);
  checker.text(`${field}.identity`, event.identity, { max: 256 });
  checkList(checker, `${field}.triggers`, event.triggers, 64, { min: 1, max: 64 });
  checkList(checker, `${field}.activity`, event.activity, 1_000, {
    max: 4_096,
    unit: "bytes",
    content: true,
  });
}

function checkList(
  checker: Checker,
  field: string,
  items: readonly string[],
  max: number,
  bounds: Parameters<Checker["text"]>[2],
): void {
  checker.count(field, items, 0, max);
  for (const [index, item] of items.slice(0, max).entries()) checker.text(`${field}[${index}]`, item, bounds);
}

export function validateAssemblyId(request: { readonly assemblyId?: string | undefined }): void {
  const checker = new Checker();
  checker.uuid("assembly_id", request.assemblyId ?? "", true);
  checker.done();
}

export function validateCompareReceipts(request: wire.CompareReceiptsRequest): void {
  const checker = new Checker();
  checker.uuid("first_assembly_id", request.firstAssemblyId ?? "", true);
  checker.uuid("second_assembly_id", request.secondAssemblyId ?? "", true);
  checker.done();
}

export const validateReportOverflow = checked<wire.ReportOverflowRequest>((checker, request) => {
  checkRequestId(checker, request.requestId);
  checker.uuid("assembly_id", request.assemblyId ?? "", true);
});

const bodyFormats = [
  BodyFormat.ANTHROPIC_MESSAGES,
  BodyFormat.OPENAI_RESPONSES,
  BodyFormat.OPENAI_CHAT,
  BodyFormat.GEMINI,
];

export const validateValidateBody = checked<wire.ValidateBodyRequest>((checker, request) => {
  checker.oneOf("format", request.format, bodyFormats);
  if (request.body.length === 0) checker.wrong("body", "is required");
  if (request.body.length > maxBodyBytes) checker.wrong("body", "has more than 33,554,432 bytes");
});

export const validateListModels = checked<wire.ListModelsRequest>((checker, request) => {
  checker.text("name_prefix", request.namePrefix, { max: 256 });
  checkPage(checker, request);
});

export const validateGetCacheReport = checked<wire.GetCacheReportRequest>((checker, request) => {
  checker.text("session", request.session, name);
  checker.number("turns", request.turns, 0, 1_000);
});

export function validateCountTokens(request: wire.CountTokensRequest): void {
  const checker = new Checker();
  checker.count("texts", request.texts, 1, 1_024);
  checker.text("model", request.model, { max: 256 });
  const bytes = request.texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes > maxTextBytes) checker.wrong("texts", "have together more than 16,777,216 bytes");
  checker.done();
}
