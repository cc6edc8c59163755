export interface Figure {
  readonly figure: string;
  readonly value: number;
  readonly unit?: string;
  readonly limit?: number;
  readonly holds?: boolean;
  readonly note?: string;
}
