import type { Jobs } from '../../platform/jobs/jobs.ts'
import type { Billing } from '../billing/billing.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { Instances } from '../instances/instances.ts'
import type { AlarmReading, AlarmReads } from './alarms.ts'
import { disksLow } from './disk-room.ts'

/** A mail, or an event of the gateway's own, that waits longer is late. */
const LATE_SECONDS = 600
/**
 * Fewer late mails are the fault of whom they go to: a stranger who signs up by a mail server that answers “later” for ever is
 * to wake nobody. So are as many that are no tenth of what was sent meanwhile.
 */
const MAILS_LATE_MIN = 5
const MAILS_LATE_OF = 10
const SENT_SECONDS = 3_600
/** A payment platform that is away for minutes is no alarm. */
const ASIDE_MS = 900_000
/** The longest that a passing state may last by the reconciler's own limits. */
const STUCK_MS = 1_800_000

interface ReadsDeps {
  billing: Pick<Billing, 'eventsAside'>
  fleet: Pick<Fleet, 'engines' | 'isReached'>
  instances: Pick<Instances, 'countUnremoved' | 'stuckSince' | 'enginesInUse'>
  jobs: Pick<Jobs, 'countLate' | 'countDone'>
  /** Queues of mails and of events. */
  queues: { mails: string; events: string }
  /** Folders of this computer that must not run full. */
  folders: readonly string[]
  now(): Date
}

/** What alarms look at in the other domains. */
export function alarmReads(deps: ReadsDeps): AlarmReads {
  const { billing, fleet, instances, jobs, queues } = deps
  const before = (ms: number) => new Date(deps.now().getTime() - ms)
  const counted = (value: number): AlarmReading => ({ value, about: [] })
  const listed = (about: string[]): AlarmReading => ({ value: about.length, about })
  return {
    payment_events_aside: async () =>
      listed(
        (await billing.eventsAside(before(ASIDE_MS))).map(
          ({ platformName, eventId, tries, reason }) =>
            `${platformName} ${eventId}, tried ${tries} times: ${reason}`,
        ),
      ),
    async engines_lost() {
      const inUse = await instances.enginesInUse()
      return listed(
        fleet
          .engines()
          .filter(({ id }) => inUse.has(id) && !fleet.isReached(id))
          .map(({ id, driver }) => `${driver} ${id}, with ${inUse.get(id)} instances`),
      )
    },
    instances_stuck: async () =>
      listed(
        (await instances.stuckSince(before(STUCK_MS))).map(
          ({ id, status, statusSince }) => `${id} has been ${status} since ${statusSince.toISOString()}`,
        ),
      ),
    instances_not_removed: async () => counted(await instances.countUnremoved()),
    async mails_late() {
      const late = await jobs.countLate(queues.mails, LATE_SECONDS)
      if (late < MAILS_LATE_MIN) return counted(0)
      const sent = await jobs.countDone(queues.mails, SENT_SECONDS)
      return counted(late * MAILS_LATE_OF > late + sent ? late : 0)
    },
    events_late: async () => counted(await jobs.countLate(queues.events, LATE_SECONDS)),
    disk_low: () => disksLow(deps.folders),
  }
}
