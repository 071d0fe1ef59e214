import { instance } from '../src/domains/instances/tables.ts'
import type { Database } from '../src/platform/database/database.ts'

/** What matters of a row; the rest is a machine that rests, and that no reconciler looks at in a test's lifetime. */
export interface MadeRow extends Partial<typeof instance.$inferInsert> {
  id: string
  userId: string
}

const NEVER = new Date('2099-01-01T00:00:00Z')
const THEN = new Date('2026-11-20T12:00:00Z')
/** Rows of one statement: each takes some thirty of its 65,535 parameters. */
const ROWS_AT_ONCE = 1_000

/** Writes instances straight into their table, where deploying so many would take too long. */
export async function addInstanceRows(db: Database, rows: readonly MadeRow[]): Promise<void> {
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
    await db.insert(instance).values(rows.slice(at, at + ROWS_AT_ONCE).map(rowOf))
  }
}

function rowOf(made: MadeRow): typeof instance.$inferInsert {
  return {
    name: 'machine',
    kind: 'POD',
    regionCode: 'us-west',
    gpuSpecId: 'rtx4090',
    gpuCount: 1,
    simulated: true,
    spec: { name: 'RTX 4090', gpu: true, vram_gb: 24, vcpu: 12, memory_gb: 64 },
    gpuUuids: [],
    imageId: 'base',
    billingType: 'postpay',
    containerDiskGb: 20,
    httpPorts: [],
    tcpPorts: [],
    env: {},
    startCommand: '',
    runningMicroPerHour: 420_000n,
    stoppedMicroPerHour: 0n,
    serviceSecret: `secret-${made.id}`,
    desired: 'stopped',
    status: 'stopped',
    statusSince: THEN,
    nextAttemptAt: NEVER,
    createdAt: THEN,
    stoppedAt: THEN,
    ...made,
  }
}
