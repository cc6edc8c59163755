/** An attack goes on for no longer than this. */
export const attackBoundMs = 12_000;
/** A server that is not quick again this long after an attack counts as lost, and is ended. */
export const recoveryBoundMs = 20_000;
export const setUpBoundMs = 120_000;
export const quietMs = 3_000;
