export const WarningKind = {
  UNSPECIFIED: "WARNING_KIND_UNSPECIFIED",
  MODEL_UNKNOWN: "WARNING_KIND_MODEL_UNKNOWN",
  MODEL_ASSUMED: "WARNING_KIND_MODEL_ASSUMED",
  CONTEXT_CAPPED: "WARNING_KIND_CONTEXT_CAPPED",
  KNOB_CLAMPED: "WARNING_KIND_KNOB_CLAMPED",
  PARAMETER_LEFT_OUT: "WARNING_KIND_PARAMETER_LEFT_OUT",
  THINKING_LOWERED: "WARNING_KIND_THINKING_LOWERED",
  OVERRIDE_NOT_READ: "WARNING_KIND_OVERRIDE_NOT_READ",
  TEMPLATE_NOT_READ: "WARNING_KIND_TEMPLATE_NOT_READ",
  ASSEMBLY_UNKNOWN: "WARNING_KIND_ASSEMBLY_UNKNOWN",
  PARENT_DIFFERS: "WARNING_KIND_PARENT_DIFFERS",
  CANDIDATES_LEFT_OUT: "WARNING_KIND_CANDIDATES_LEFT_OUT",
  CONVERSATION_LEFT_OUT: "WARNING_KIND_CONVERSATION_LEFT_OUT",
  MEDIA_ESTIMATED: "WARNING_KIND_MEDIA_ESTIMATED",
  MEDIA_NOT_SENT: "WARNING_KIND_MEDIA_NOT_SENT",
  PARAMETER_LOWERED: "WARNING_KIND_PARAMETER_LOWERED",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type WarningKind = (typeof WarningKind)[keyof typeof WarningKind];

/** Something that a call went on in spite of, and that its caller should know. */
export interface Warning {
  readonly kind: WarningKind;
  /** A sentence for people. */
  readonly detail: string;
}

export function warning(kind: WarningKind, detail: string): Warning {
  return { kind, detail };
}

/** Warnings, each said once, in the order in which they came up. */
export function distinctWarnings(warnings: readonly Warning[]): Warning[] {
  const said = new Set<string>();
  return warnings.filter(({ kind, detail }) => {
    const key = `${kind}\n${detail}`;
    return !said.has(key) && said.add(key);
  });
}
