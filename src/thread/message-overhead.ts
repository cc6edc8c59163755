import { countedTokens } from "../domain/token-units.js";
/** What a message costs beside its text: roles and separators. */
export const messageOverheadTokens = countedTokens(4);
