import { Presets, SingleBar } from "cli-progress";
import { say, type Terminal } from "./terminal.js";

/** Says on stderr how far a long command is: a bar for a person, now and then a line for a log. */
export interface Progress {
  start(total: number): void;
  advance(): void;
  stop(): void;
}

const silent: Progress = { start: () => {}, advance: () => {}, stop: () => {} };

export function createProgress(terminal: Terminal, noun: string, quiet: boolean): Progress {
  if (quiet) return silent;
  return terminal.interactive ? barProgress(terminal, noun) : lineProgress(terminal, noun);
}

function barProgress(terminal: Terminal, noun: string): Progress {
  const format = `{bar} {percentage}% | {value}/{total} ${noun} | {eta_formatted} left`;
  const bar = new SingleBar(
    { format, stream: terminal.stderr as NodeJS.WriteStream, clearOnComplete: true, hideCursor: true },
    Presets.shades_classic,
  );
  return { start: (total) => bar.start(total, 0), advance: () => bar.increment(), stop: () => bar.stop() };
}

function lineProgress(terminal: Terminal, noun: string): Progress {
  let total = 0;
  let done = 0;
  return {
    start: (count) => {
      total = count;
    },
    advance: () => {
      done += 1;
      const tenth = Math.ceil(total / 10);
      if (done % tenth === 0 || done === total) say(terminal, `${done} of ${total} ${noun}`);
    },
    stop: () => {},
  };
}
