import {
  OUTLOOK_MACHINES_MAX,
  STOPPED_POD_KEPT_DAYS,
  UNPAID_IMAGE_KEPT_DAYS,
  UNPAID_PUBLIC_IP_KEPT_DAYS,
  UNPAID_VOLUME_KEPT_DAYS,
} from '@berth/contract/limits'
import { type DELETED_UNPAID, type Outlook, outlook } from '@berth/contract/outlook'
import type { UsageKind } from '@berth/contract/usage-kinds'
import { sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import { wireOf } from '../../../platform/http/wire.ts'
import { lastsSeconds } from '../credits/reckoning.ts'
import { readTotals } from '../ledger/wallet.ts'
import { usageKindSql } from '../meters/usage-kinds.ts'
import type { Subject } from '../subject.ts'

interface OutlookDeps {
  db: Database
  clock: Clock
  /** Whether some machine of a customer is deleted some time after that (R9.6, B4); of the instances domain. */
  losesMachines(userId: string): Promise<boolean>
}

type Use = Outlook['uses'][number]
type Deletion = Outlook['deletions'][number]

const useOf = wireOf(outlook.shape.uses.element)
const outlookOf = wireOf(outlook)

const DAY_MS = 24 * 3_600_000

/** What is open and costs something, with its rate by the hour as the balance reckons it. */
interface OpenUse {
  usage: Use['usage']
  instanceId: string | null
  instanceName: string | null
  rateMicro: bigint
}

/**
 * What uses a customer's balance by the hour, when it is used up at that, and what is deleted how long after (B4).
 * @throws ApiError `not_found` without a wallet.
 */
export async function readOutlook(deps: OutlookDeps, userId: string): Promise<Outlook> {
  const now = deps.clock.now()
  // In one snapshot, so that the uses are those that the runway is reckoned from.
  const { totals, open } = await deps.db.transaction(
    async tx => ({
      totals: await readTotals(tx, { now: () => now }, userId),
      open: await readOpen(tx, userId),
    }),
    { isolationLevel: 'repeatable read', accessMode: 'read only' },
  )
  const lasts = lastsSeconds(now, totals)
  const emptyAt = lasts === null ? null : new Date(now.getTime() + lasts * 1_000)
  return outlookOf({
    currency: totals.currency,
    uses: usesOf(open),
    emptyAt,
    deletions: emptyAt === null ? [] : deletionsOf(open, emptyAt, await deps.losesMachines(userId)),
  })
}

async function readOpen(tx: Transaction, userId: string): Promise<OpenUse[]> {
  const { rows } = await tx.execute<{
    subjectKind: Subject['kind']
    subjectId: string
    subjectName: string
    usage: UsageKind
    rate: string
  }>(sql`
    select i.subject_kind as "subjectKind", i.subject_id as "subjectId", i.subject_name as "subjectName",
      ${usageKindSql(sql`i.subject_kind`, sql`m.sku`)} as usage,
      div(i.rate_micro * 3600, i.rate_seconds) as rate
    from usage_interval i
    left join usage_meter m on m.interval_id = i.id and m.position = 0
    where i.user_id = ${userId} and i.ended_at is null and i.rate_micro > 0
    order by rate desc, i.id`)
  return rows.map(({ subjectKind, subjectId, subjectName, usage, rate }) => ({
    usage,
    instanceId: subjectKind === 'instance' ? subjectId : null,
    instanceName: subjectKind === 'instance' ? subjectName : null,
    rateMicro: BigInt(rate),
  }))
}

/** The machines that cost most by name; the others, and what is not a machine, in a row for each kind. */
function usesOf(open: readonly OpenUse[]): Use[] {
  const named = new Set(open.filter(({ usage }) => usage === 'compute').slice(0, OUTLOOK_MACHINES_MAX))
  const sums = new Map<string, OpenUse & { count: number }>()
  for (const use of open) {
    const key = named.has(use) ? `${use.usage} ${use.instanceId}` : use.usage
    const sum = sums.get(key)
    sums.set(key, {
      ...use,
      ...(named.has(use) ? {} : { instanceId: null, instanceName: null }),
      count: (sum?.count ?? 0) + 1,
      rateMicro: (sum?.rateMicro ?? 0n) + use.rateMicro,
    })
  }
  return [...sums.values()]
    .sort((one, other) => (one.rateMicro < other.rateMicro ? 1 : one.rateMicro > other.rateMicro ? -1 : 0))
    .map(({ rateMicro, ...use }) => useOf({ ...use, rateMicroPerHour: rateMicro }))
}

/** What is deleted unless something is added, each of its kind by its own rule (R9.6, B4). */
function deletionsOf(open: readonly OpenUse[], emptyAt: Date, losesMachines: boolean): Deletion[] {
  const costs = (...usages: Use['usage'][]) => open.some(({ usage }) => usages.includes(usage))
  const deletions: [boolean, (typeof DELETED_UNPAID)[number], number][] = [
    [costs('public_ip'), 'public_ips', UNPAID_PUBLIC_IP_KEPT_DAYS],
    [costs('volume', 'snapshot'), 'volumes', UNPAID_VOLUME_KEPT_DAYS],
    [costs('image'), 'images', UNPAID_IMAGE_KEPT_DAYS],
    [losesMachines, 'machines', STOPPED_POD_KEPT_DAYS],
  ]
  return deletions
    .filter(([applies]) => applies)
    .sort(([, , one], [, , other]) => one - other)
    .map(([, what, days]) => ({ what, at: new Date(emptyAt.getTime() + days * DAY_MS).toISOString() }))
}
