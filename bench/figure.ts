export interface Figure {
  readonly figure: string;
  readonly value: number;
  readonly unit?: string;
  readonly limit?: number;
  readonly holds?: boolean;
  readonly note?: string;
}

export function atMost(figure: string, value: number, limit: number): Figure {
  return { figure, value, limit, holds: value <= limit, note: "at most" };
}
