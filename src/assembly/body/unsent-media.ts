import { type Warning, WarningKind, warning } from "../../domain/warning.js";
import { unsentMedia } from "../../rendering/unsent-media.js";
import { decodeMessages } from "../../thread/message-codec.js";
import type { CurrentStage } from "../event/current-message.js";
import type { HistoryStage } from "../history/history.js";
import type { ResolvedContext } from "../resolve/resolve.js";
import { formatName } from "./format-name.js";

/** So many of them are named. */
const mostNamed = 8;

/** A warning where the body that is asked for has images or files only in words. */
export function mediaWarnings(
  { request }: Pick<ResolvedContext, "request">,
  history: HistoryStage,
  current: CurrentStage,
): readonly Warning[] {
  const format = formatName(request.render);
  if (!format || !(history.hasMedia || current.hasMedia)) return [];
  const sent = history.hasMedia ? history.allPieces().flatMap((piece) => decodeMessages(piece)) : [];
  const unsent = unsentMedia(format, current.message ? [...sent, current.message] : sent);
  const named = unsent.slice(0, mostNamed).map((name) => said(name));
  const more = unsent.length - named.length;
  return more > 0 ? [...named, said(`${more} more images and files`)] : named;
}

function said(what: string): Warning {
  return warning(
    WarningKind.MEDIA_NOT_SENT,
    `${what}: not sent as such, since the provider does not take it so`,
  );
}
