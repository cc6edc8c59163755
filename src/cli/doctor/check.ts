/** What one look at this machine found, and how to mend it. */
export interface Check {
  readonly name: string;
  readonly status: "ok" | "warn" | "fail";
  readonly found: string;
  readonly hint: string;
}

export function ok(name: string, found: string): Check {
  return { name, status: "ok", found, hint: "" };
}

export function warn(name: string, found: string, hint: string): Check {
  return { name, status: "warn", found, hint };
}

export function fail(name: string, found: string, hint: string): Check {
  return { name, status: "fail", found, hint };
}
