import { describe, expect, it } from "vitest";
import { defaultPromptTexts } from "../../src/domain/prompt-texts.js";
import { type Capability, type CapabilitySnapshot, CapabilityState } from "../../src/domain/workspace.js";
import { renderEnvironment } from "../../src/workspace/render-environment.js";

const { ACTIVE, READY, NEEDS_SETUP, BROKEN } = CapabilityState;

function can(category: string, name: string, state: CapabilityState, reason = "", hint = ""): Capability {
  return { category, name, state, reason, hint };
}

function snapshot(
  capabilities: readonly Capability[],
  configured = 0,
  broken: readonly string[] = [],
): CapabilitySnapshot {
  return {
    capabilities,
    credentialsConfigured: configured,
    credentialsBroken: broken,
    hash: Buffer.alloc(0),
    snapshotTime: undefined,
  };
}

const begin = "## Environment\n\nThis is a condensed summary of what you can use here.";
const usage = "### Using Skills\nGet the full guide for a capability before you first use it.";

const guide = "Run `skill use <name>` for its guide.";
const nexus = snapshot(
  [
    can("Communication", "email-read", ACTIVE, "", guide),
    can("Social", "social-x", ACTIVE),
    can("Communication", "chat-read", READY),
    can("Communication", "email-send", ACTIVE, "", guide),
    can("Social", "news", NEEDS_SETUP, "API key"),
    can("Social", "weather", NEEDS_SETUP, "API key"),
    can("Social", "twitter", BROKEN, "token\nexpired", "Ask the user to log in again."),
    can("Files", "disk", BROKEN),
  ],
  12,
  ["twitter"],
);

describe("renderEnvironment", () => {
  it("gives a line to each category in the order of first appearance, with names grouped by state and reason", () => {
    expect(renderEnvironment(nexus)).toBe(`${begin}

### Capabilities
Communication: email-read, email-send ✅ | chat-read ⭐ (ready)
Social: social-x ✅ | news, weather 🔧 (API key) | twitter ❌ (broken: token expired)
Files: disk ❌ (broken)

${usage}
- email-read, email-send: Run \`skill use <name>\` for its guide.
- twitter: Ask the user to log in again.

### Credentials
12 configured | 1 broken (twitter)`);
  });

  it("shows a worker only what is in its scope, credentials included", () => {
    expect(renderEnvironment(nexus, { scope: ["chat-read", "none-such"] })).toBe(`${begin}

### Capabilities
Communication: chat-read ⭐ (ready)

${usage}`);
    expect(renderEnvironment(snapshot(nexus.capabilities), { scope: [] })).toBe("");
  });

  it("takes a credential to be in scope when it has a capability's name, alone or before a separator", () => {
    const broken = ["disk", "disk-key", "disk/work", "disks", "cloud", "my-disk"];
    expect(renderEnvironment(snapshot(nexus.capabilities, 9, broken), { scope: ["disk"] })).toBe(`${begin}

### Capabilities
Files: disk ❌ (broken)

${usage}

### Credentials
3 broken (disk, disk-key, disk/work)`);
  });

  it("leaves out what there is nothing to say about", () => {
    expect(renderEnvironment(snapshot([]))).toBe("");
    expect(renderEnvironment(snapshot([], 3))).toBe(`${begin}\n\n### Credentials\n3 configured`);
    expect(renderEnvironment(snapshot([can("A", "a", READY, "no reason is needed")]))).toBe(
      `${begin}\n\n### Capabilities\nA: a ⭐ (ready)\n\n${usage}`,
    );
  });

  it("does not speak of what the agent may not use, nor of its hints", () => {
    const bare = snapshot(nexus.capabilities);
    const shown = renderEnvironment(bare, { isAllowed: (name) => name === "chat-read" });
    expect(shown).toBe(renderEnvironment(bare, { scope: ["chat-read"] }));
    expect(renderEnvironment(snapshot(nexus.capabilities), { isAllowed: () => false })).toBe("");
  });

  it("takes every fixed word from the templates", () => {
    const texts = {
      ...defaultPromptTexts,
      "environment-heading": "<environment>",
      "environment-introduction": "You have the `nexus` CLI.",
      "environment-capabilities-heading": "",
      "environment-category": "* {{category}} = {{groups}}",
      "environment-active": "ON {{names}}",
      "environment-skills-usage": "Run `nexus skill use <name>`.",
      "environment-credentials-heading": "Keys:",
    };
    expect(renderEnvironment(snapshot([can("A", "a", ACTIVE)], 1), { texts })).toBe(
      "<environment>\n\nYou have the `nexus` CLI.\n\n* A = ON a\n\n### Using Skills\nRun `nexus skill use <name>`.\n\nKeys:\n1 configured",
    );
  });

  it("never fills in what comes from a capability's own text", () => {
    expect(renderEnvironment(snapshot([can("{{groups}}", "{{reason}}$&", ACTIVE, "", "{{names}}")]))).toBe(
      `${begin}\n\n### Capabilities\n{{groups}}: {{reason}}$& ✅\n\n${usage}\n- {{reason}}$&: {{names}}`,
    );
  });
});
