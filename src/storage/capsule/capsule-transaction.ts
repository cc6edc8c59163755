import type { PrismaTransaction } from "../database.js";
import type { CapsuleVersionRow } from "./rows.js";

export interface NextVersion {
  readonly id: string;
  readonly version: number;
}

/** What a write may do to capsules, inside its transaction. */
export class CapsuleTransaction {
  constructor(
    private readonly tx: PrismaTransaction,
    private readonly tenantId: string,
  ) {}

  /**
   * Takes the next version number of a capsule. It is taken before anything is read, so that writers to one capsule
   * wait for each other, and what they read after that is the latest.
   */
  async nextVersion(name: string): Promise<NextVersion | undefined> {
    const { tenantId } = this;
    const taken = await this.tx.capsuleHead.updateMany({
      where: { tenantId, name },
      data: { latestVersion: { increment: 1 } },
    });
    if (taken.count === 0) return undefined;
    const row = await this.tx.capsuleHead.findUniqueOrThrow({ where: { tenantId_name: { tenantId, name } } });
    return { id: row.id, version: row.latestVersion };
  }

  /** The first version of a new capsule. When another writer makes a capsule of this name, too, one of them runs again. */
  async firstVersion(name: string, id: string): Promise<NextVersion> {
    await this.tx.capsuleHead.create({ data: { tenantId: this.tenantId, id, name, latestVersion: 1 } });
    return { id, version: 1 };
  }

  async insertVersion(
    row: Omit<CapsuleVersionRow, "tenantId" | "body" | "hash"> & StoredBytes,
  ): Promise<void> {
    // Prisma's Bytes are bound to ArrayBuffer, which a Buffer is not to the compiler.
    const data = { ...row, tenantId: this.tenantId } as unknown as CapsuleVersionRow;
    await this.tx.capsuleVersion.create({ data });
  }

  async readBody(id: string, version: number): Promise<Buffer> {
    const where = { tenantId_capsuleId_version: { tenantId: this.tenantId, capsuleId: id, version } };
    const { body } = await this.tx.capsuleVersion.findUniqueOrThrow({ where, select: { body: true } });
    return Buffer.from(body);
  }

  /** Removes a capsule with its versions and the stored answers about it. Gives how many versions it had. */
  async remove(name: string): Promise<number | undefined> {
    const { tenantId } = this;
    // As in nextVersion: whoever writes to this capsule is done, or waits, before its versions are counted.
    const head = await this.nextVersion(name);
    if (!head) return undefined;
    await this.tx.capsuleHead.delete({ where: { tenantId_id: { tenantId, id: head.id } } });
    const { count } = await this.tx.capsuleVersion.deleteMany({ where: { tenantId, capsuleId: head.id } });
    await this.tx.storedAnswer.deleteMany({ where: { tenantId, sessionId: head.id } });
    return count;
  }
}

interface StoredBytes {
  readonly hash: Buffer;
  readonly body: Buffer;
}
