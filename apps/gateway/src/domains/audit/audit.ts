import type { listAuditLog } from '@berth/contract/account-security'
import type { CallData } from '@berth/contract/call'
import { AUDIT_KEPT_DAYS } from '@berth/contract/limits'
import { lt } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database/database.ts'
import type { Events } from '../../platform/events/events.ts'
import type { CallDone } from '../../platform/http/call-done.ts'
import type { Ids } from '../../platform/ids.ts'
import { sessionPushedOut } from '../identity/events.ts'
import { type ImageNews, imageNews } from '../images/events.ts'
import { addressNews, deletionNews, instancesInTrouble, resumeNews } from '../instances/events.ts'
import { volumeNews } from '../volumes/events.ts'
import { type AuditQuery, readPage } from './audit-log.ts'
import { createAuditWriter } from './audit-writer.ts'
import { entryOfCall } from './call-entries.ts'
import { createOperatorLog } from './operator-log.ts'
import { auditEntry } from './tables.ts'

const DAY_MS = 24 * 3_600_000
/** The database refuses to delete younger entries by its own clock, which may be behind ours. */
const PURGE_MARGIN_MS = DAY_MS

interface AuditDeps {
  db: Database
  clock: Clock
  ids: Ids
  log: Pick<Logger, 'error' | 'warn'>
  events: Pick<Events, 'on'>
}

/** Makes the audit domain: who did what with an account, and from where (B12). */
export function createAudit(deps: AuditDeps) {
  const { db, clock } = deps
  const writer = createAuditWriter(deps)
  const operators = createOperatorLog(deps)
  writeSystemActs(deps.events, writer)
  return {
    /** What operators changed by their command line. */
    operators,

    /** Notes a call once it is answered; those that are not to be noted are passed over. Returns at once. */
    noteCall(done: CallDone): void {
      const note = entryOfCall(done)
      if (note) writer.note(note)
    },

    /** Notes what no call of the customer's own says. Returns at once and never throws. */
    note: writer.note,

    /** Entries of an account, newest first, with all that were noted here before. */
    async list(userId: string, query: AuditQuery): Promise<CallData<typeof listAuditLog>> {
      await writer.settled()
      return await readPage(db, userId, query)
    },

    /** Removes entries that are older than they are kept. */
    async purge(): Promise<void> {
      const before = new Date(clock.now().getTime() - AUDIT_KEPT_DAYS * DAY_MS - PURGE_MARGIN_MS)
      await db.delete(auditEntry).where(lt(auditEntry.at, before))
      await operators.purge()
    },

    /** Writes what still waits; call it when nothing is noted any more. */
    stop: writer.stop,
  }
}
export type Audit = ReturnType<typeof createAudit>

/** What the operator does with a customer's image, and the system by itself. */
const IMAGE_ACTS: Partial<Record<ImageNews, { actor: 'operator' | 'system'; action: string }>> = {
  published: { actor: 'operator', action: 'image.approve' },
  refused: { actor: 'operator', action: 'image.reject' },
  taken_down: { actor: 'operator', action: 'image.take-down' },
  deleted_unpaid: { actor: 'system', action: 'image.delete' },
}

/** What the system does to an account by itself, and the operator. */
function writeSystemActs(
  events: Pick<Events, 'on'>,
  writer: Pick<ReturnType<typeof createAuditWriter>, 'write'>,
): void {
  events.on(sessionPushedOut, 'audit', (tx, { userId, sessionId }) =>
    writer.write(tx, { userId, actor: 'system', action: 'account.session-ended', target: sessionId }),
  )
  events.on(volumeNews, 'audit', async (tx, { userId, news, volume }) => {
    if (news !== 'deleted_unpaid') return
    await writer.write(tx, { userId, actor: 'system', action: 'netvolume.delete', target: volume.id })
  })
  events.on(imageNews, 'audit', async (tx, { userId, news, image }) => {
    const act = IMAGE_ACTS[news]
    if (act) await writer.write(tx, { userId, ...act, target: image.id })
  })
  events.on(instancesInTrouble, 'audit', async (tx, { userId, cause, instances }) => {
    if (cause === 'error' || cause === 'exited') return
    const isMove = cause === 'moved_by_operator'
    const actor = isMove || cause === 'stopped_by_operator' ? 'operator' : 'system'
    for (const { id } of instances) {
      await writer.write(tx, {
        userId,
        actor,
        action: isMove ? 'instance.restart' : 'instance.stop',
        target: id,
      })
    }
  })
  events.on(resumeNews, 'audit', async (tx, { userId, news, instance }) => {
    if (news !== 'started') return
    await writer.write(tx, { userId, actor: 'system', action: 'instance.start', target: instance.id })
  })
  events.on(addressNews, 'audit', async (tx, { userId, news, addressId }) => {
    if (news !== 'given_back_unpaid') return
    await writer.write(tx, { userId, actor: 'system', action: 'eip.unbind', target: addressId })
  })
  events.on(deletionNews, 'audit', async (tx, { userId, outcome, instance }) => {
    if (outcome !== 'deleted' && outcome !== 'deleted_unpaid') return
    const act = { userId, actor: 'system', action: 'instance.terminate', target: instance.id } as const
    await writer.write(tx, act)
  })
}
