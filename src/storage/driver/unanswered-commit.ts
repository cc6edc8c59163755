import { DriverAdapterError } from "@prisma/driver-adapter-utils";

/** A commit of which nobody knows whether it happened: what it held must not be written again on a guess. */
export class UnansweredCommit extends DriverAdapterError {}
