import { type DestinationStream, pino } from "pino";

/** Structured logs. What is logged are names, ids, counts and times, never the content of a conversation. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export function createLogger(
  level: "debug" | "info" | "warn" | "error" | "silent",
  destination?: DestinationStream,
): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return destination ? pino(options, destination) : pino(options);
}
