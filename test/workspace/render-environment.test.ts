import { describe, expect, it } from "vitest";
import { type Capability, type CapabilitySnapshot, CapabilityState } from "../../src/domain/workspace.js";
import { defaultEnvironmentTemplates, renderEnvironment } from "../../src/workspace/render-environment.js";

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
    expect(renderEnvironment(nexus)).toBe(`## Environment

### Capabilities
Communication: email-read, email-send (active) | chat-read (ready)
Social: social-x (active) | news, weather (needs setup: API key) | twitter (broken: token expired)
Files: disk (broken)

### Using capabilities
- email-read, email-send: Run \`skill use <name>\` for its guide.
- twitter: Ask the user to log in again.

### Credentials
12 configured | 1 broken (twitter)`);
  });

  it("shows a worker only what is in its scope, credentials included", () => {
    expect(renderEnvironment(nexus, { scope: ["chat-read", "none-such"] })).toBe(`## Environment

### Capabilities
Communication: chat-read (ready)`);
    expect(renderEnvironment(snapshot(nexus.capabilities), { scope: [] })).toBe("");
  });

  it("takes a credential to be in scope when it has a capability's name, alone or before a separator", () => {
    const broken = ["disk", "disk-key", "disk/work", "disks", "cloud", "my-disk"];
    expect(
      renderEnvironment(snapshot(nexus.capabilities, 9, broken), { scope: ["disk"] }),
    ).toBe(`## Environment

### Capabilities
Files: disk (broken)

### Credentials
3 broken (disk, disk-key, disk/work)`);
  });

  it("leaves out what there is nothing to say about", () => {
    expect(renderEnvironment(snapshot([]))).toBe("");
    expect(renderEnvironment(snapshot([], 3))).toBe("## Environment\n\n### Credentials\n3 configured");
    expect(renderEnvironment(snapshot([can("A", "a", READY, "no reason is needed")]))).toBe(
      "## Environment\n\n### Capabilities\nA: a (ready)",
    );
  });

  it("takes every fixed word from the templates", () => {
    const templates = {
      ...defaultEnvironmentTemplates,
      heading: "<environment>",
      introduction: "You have the `nexus` CLI.",
      capabilitiesHeading: "",
      category: "* {category} = {groups}",
      group: "{state} {names}",
      active: "ON",
      credentialsHeading: "Keys:",
    };
    expect(renderEnvironment(snapshot([can("A", "a", ACTIVE)], 1), { templates })).toBe(
      "<environment>\n\nYou have the `nexus` CLI.\n\n* A = ON a\n\nKeys:\n1 configured",
    );
  });

  it("never fills in what comes from a capability's own text", () => {
    expect(renderEnvironment(snapshot([can("{groups}", "{state}$&", ACTIVE, "", "{names}")]))).toBe(
      "## Environment\n\n### Capabilities\n{groups}: {state}$& (active)\n\n### Using capabilities\n- {state}$&: {names}",
    );
  });
});
