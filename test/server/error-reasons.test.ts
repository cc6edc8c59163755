import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { status as Code, Metadata } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packageRoot } from "../../src/config/package-root.js";
import { ErrorReason, TurnScope } from "../../src/contract/gen/quire/v1/all.js";
