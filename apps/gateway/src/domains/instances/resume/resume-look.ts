import { and, asc, eq, gt, inArray, isNotNull, isNull, or } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Transaction } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Billing } from '../../billing/billing.ts'
import { forCustomer } from '../../customers/customers.ts'
import { type ActionDeps, act, beginStart } from '../act/actions.ts'
import { resumeNews } from '../events.ts'
import type { InstanceRow } from '../rows.ts'
import { instance } from '../tables.ts'
import { atOnceMicro, failedTry, isPausing, isToResume, moneySince, type ResumeTry } from './resume-rules.ts'

export interface ResumeDeps extends ActionDeps {
  billing: Billing
  log: Pick<Logger, 'error'>
}

/** Rows that are read at once; a page keeps the memory bounded whatever their number. */
const PAGE = 200
/** Not the instance’s own trouble: its customer was faster, or there is too little for it still. */
const NOT_NOW: readonly string[] = [
  'insufficient_balance',
  'instance_state',
  'not_found',
  'login_expired',
  'account_suspended',
]

/** Under its lock it is not as it was when it was found. */
class NotNow extends Error {}

/**
 * Starts instances again by themselves (B4): those that were stopped because nothing was left, whose customers asked for
 * it, and that money which has come since covers. Those that stopped first come first; one that cannot be started holds
 * up no other, is told of, and is tried again a few times. Whether it is to be started is decided under its customer's
 * lock in the transaction that starts it, so that any number of looks may run at once, and what a customer does meanwhile
 * counts. @returns Ids of those that it has started.
 */
export function createResumeLook(deps: ResumeDeps): (signal?: AbortSignal) => Promise<string[]> {
  const { db, clock, billing, quotes } = deps

  function read(after: InstanceRow | undefined): Promise<InstanceRow[]> {
    const later = after && [
      gt(instance.emptiedAt, after.emptiedAt ?? clock.now()),
      and(eq(instance.emptiedAt, after.emptiedAt ?? clock.now()), gt(instance.id, after.id)),
    ]
    return db
      .select()
      .from(instance)
      .where(
        and(
          isNotNull(instance.emptiedAt),
          isNull(instance.terminatedAt),
          eq(instance.resumeAfterTopup, true),
          eq(instance.desired, 'stopped'),
          // One that stops still is started once it has stopped.
          inArray(instance.status, ['stopped', 'exited']),
          isNull(instance.buildingImageId),
          later && or(...later),
        ),
      )
      .orderBy(asc(instance.emptiedAt), asc(instance.id))
      .limit(PAGE)
  }

  /** Those of a page that are due, and for which money has come. */
  async function dueOf(page: readonly InstanceRow[]): Promise<InstanceRow[]> {
    const now = clock.now()
    const due = page.flatMap(row => (isToResume(row, now) && !isPausing(row, now) ? [row] : []))
    const asked = due.map(row => ({ key: row.id, userId: row.userId, since: moneySince(row) }))
    const credited = await billing.creditedSince(db, asked)
    return due.filter(({ id }) => credited.has(id))
  }

  /** Whether what is available covers it; what only locks can say is asked again under them. */
  async function isCovered(row: InstanceRow): Promise<boolean> {
    let neededMicro: bigint
    try {
      neededMicro = atOnceMicro(quotes, row)
    } catch (error) {
      // What is not offered any more is refused by the start, and that is told.
      if (error instanceof ApiError) return true
      throw error
    }
    return (await billing.totals(db, row.userId)).availableMicro >= neededMicro
  }

  async function start(found: InstanceRow): Promise<void> {
    const target = { userId: found.userId, instanceId: found.id }
    await act(deps, target, 'start', async (tx, row, at) => {
      if (!isSame(row, found) || !isToResume(row, at)) throw new NotNow()
      const { gpuSpecId: specId, gpuCount } = row
      const started = await beginStart(tx, deps, row, { specId, gpuCount, at, event: 'started_after_topup' })
      await tell(tx, row, { at, news: 'started', failure: null, nextTryAt: null })
      return started
    })
  }

  async function noteFailure(found: InstanceRow, failure: ResumeTry['failure']): Promise<void> {
    await db.transaction(async tx => {
      await forCustomer(tx, found.userId)
      await billing.lockWallet(tx, found.userId)
      const [row] = await tx.select().from(instance).where(eq(instance.id, found.id)).for('update')
      const at = clock.now()
      if (!row || !isSame(row, found) || !isToResume(row, at)) return
      const tried = failedTry(row.resumeTry, failure, at)
      await tx.update(instance).set({ resumeTry: tried }).where(eq(instance.id, row.id))
      // Once when it begins to fail, or fails otherwise, and once when it is given up.
      const isGivenUp = tried.next_at === null
      const isNew =
        row.resumeTry === null || tried.attempts === 1 || row.resumeTry.failure.code !== failure.code
      if (!isGivenUp && !isNew) return
      const news = isGivenUp ? 'given_up' : 'failed'
      await tell(tx, row, { at, news, failure, nextTryAt: tried.next_at })
    })
  }

  async function tell(
    tx: Transaction,
    { userId, id, name }: InstanceRow,
    facts: {
      at: Date
      news: 'started' | 'failed' | 'given_up'
      failure: ResumeTry['failure'] | null
      nextTryAt: string | null
    },
  ): Promise<void> {
    const { at, ...rest } = facts
    await deps.events.emit(tx, resumeNews, {
      ...{ userId, at: at.toISOString(), instance: { id, name } },
      ...rest,
    })
  }

  /** @returns Whether it was started. */
  async function attempt(row: InstanceRow): Promise<boolean> {
    if (!(await isCovered(row))) return false
    try {
      await start(row)
      return true
    } catch (error) {
      if (error instanceof NotNow) return false
      const code = error instanceof ApiError ? error.code : 'internal'
      if (NOT_NOW.includes(code)) return false
      if (code === 'internal') {
        deps.log.error(
          { err: error, id: row.id },
          'an instance could not be started again; it is tried again',
        )
      }
      await noteFailure(row, { code, values: error instanceof ApiError ? error.values : {} })
      return false
    }
  }

  return async signal => {
    const started: string[] = []
    for (let after: InstanceRow | undefined; ; ) {
      const page = await read(after)
      for (const row of await dueOf(page)) {
        if (signal?.aborted) return started
        try {
          if (await attempt(row)) started.push(row.id)
        } catch (error) {
          deps.log.error({ err: error, id: row.id }, 'what is to start again could not be looked at')
        }
      }
      after = page.at(-1)
      if (after === undefined || page.length < PAGE) return started
    }
  }
}

/** Whether nothing of an instance was changed that says whether it is to be started, and with what. */
function isSame(row: InstanceRow, found: InstanceRow): boolean {
  const isSameStop = row.emptiedAt?.getTime() === found.emptiedAt?.getTime()
  return isSameStop && row.version === found.version && row.resumeTry?.at === found.resumeTry?.at
}
