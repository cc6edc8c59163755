/** Up to this size, about what a stream holds before it is read, a message waits for nothing. */
export const smallBytes = 65_536;
