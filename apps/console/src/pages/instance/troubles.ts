import { instanceCan } from '@berth/contract/instance-states'
import type { Instance, InstanceEvent } from '@berth/contract/instances'
import { STOPPED_POD_KEPT_DAYS, STOPPED_POD_NOTICE_DAYS } from '@berth/contract/limits'
import type { RowAction } from '../../instances/instance-actions.ts'

/** What stands behind the button of a trouble: an action of the instance, money, or a look at the log. */
export type TroubleWay = RowAction | 'top_up' | 'see_budgets' | 'see_log'

/** Something that its customer should do something about, said at the top of the page. */
export interface Trouble {
  code:
    | 'failed'
    | 'exited'
    | 'no_balance'
    | 'at_limit'
    | 'at_budget'
    | 'deletion'
    | 'deletion_unpaid'
    | 'ports_used_up'
    | 'disk_full'
    | 'disk_near'
    | 'unseen'
    | 'guest'
    | 'node_draining'
    | 'node_draining_fixed'
    | 'out_of_memory'
    | 'killed'
    | 'command_missing'
    | 'command_not_run'
    | 'command_ended'
    | 'command_again'
    | 'changes_wait'
  tone: 'warning' | 'bad'
  /** What stands in its sentence. */
  values: Readonly<Record<string, string | number>>
  /** What mends it; null where one can only wait. */
  way: TroubleWay | null
}

const DAY_MS = 86_400_000
/** From here on the next thing that is written may not fit. */
const DISK_NEAR_SHARE = 0.9

/** As shells say it: no such program, one that cannot be run, and one that was killed. */
const EXIT_MISSING = 127
const EXIT_NOT_RUN = 126
const EXIT_KILLED = 137
/** A program that was ended for want of memory is the first thing to be said for so long, unless it was restarted since. */
const OUT_OF_MEMORY_MS = DAY_MS
/** A command that ended once and was started again may have been meant to; one that does so again and again was not. */
const AGAIN_FROM = 3

/** What is known of an instance by what happened to it. */
interface Seen {
  lackedPorts: readonly string[]
  oomKills: number
}

const NOTHING_SEEN: Seen = { lackedPorts: [], oomKills: 0 }

/**
 * What is amiss with an instance, the gravest first.
 * @param instance As it was last seen.
 * @param disk How full its disk is, from 0 to 1, and how much is left, in words; null where nobody can say.
 * @param seen What `lackedPortsOf` and `oomKillsOf` say.
 */
export function troublesOf(
  instance: Instance,
  disk: { share: number; left: string } | null,
  { lackedPorts, oomKills }: Seen = NOTHING_SEEN,
  nowMs = Date.now(),
): readonly Trouble[] {
  const all = [
    troubleOfDeletion(instance, nowMs),
    troubleOfStatus(instance),
    oomKills === 0 ? null : made('out_of_memory', 'bad', 'see_log', { times: oomKills }),
    troubleOfCommand(instance, oomKills > 0),
    troubleOfDisk(instance, disk),
    instance.changes_wait ? made('changes_wait', 'warning', 'restart') : null,
    lackedPorts.length === 0
      ? null
      : made('ports_used_up', 'warning', null, { ports: lackedPorts.join(', ') }),
  ]
  return all.filter(found => found !== null)
}

/**
 * Ports of an instance that can be reached by no port of the gateway's, since all were given out, such as `22/tcp`.
 * @param events What happened to it: that a port could be given none is told once since it became ready.
 * @param ways How it is reached now: a port may have been given one since.
 */
export function lackedPortsOf(
  { ready_at }: Pick<Instance, 'ready_at'>,
  events: readonly Pick<InstanceEvent, 'code' | 'at' | 'detail'>[],
  ways: Readonly<Record<'tcp' | 'udp', readonly { port: number }[]>>,
): string[] {
  const given = new Set(
    (['tcp', 'udp'] as const).flatMap(way => ways[way].map(({ port }) => `${port}/${way}`)),
  )
  const told = events.filter(
    ({ code, at }) =>
      code === 'ports_used_up' && (ready_at === null || Date.parse(at) >= Date.parse(ready_at)),
  )
  return [...new Set(told.map(({ detail }) => detail))].filter(port => !given.has(port)).toSorted()
}

/**
 * How many of an instance's programs were ended for want of memory since it became ready, if that was lately; else 0.
 * @param events What happened to it, newest first.
 */
export function oomKillsOf(
  { ready_at, status }: Pick<Instance, 'ready_at' | 'status'>,
  events: readonly Pick<InstanceEvent, 'code' | 'at' | 'detail'>[],
  nowMs = Date.now(),
): number {
  if (status !== 'running') return 0
  const last = events.find(({ code }) => code === 'out_of_memory')
  if (!last || Date.parse(last.at) < nowMs - OUT_OF_MEMORY_MS) return 0
  if (ready_at !== null && Date.parse(last.at) < Date.parse(ready_at)) return 0
  return Number(last.detail)
}

/** From its first announcement on; what is farther off stands among its facts (R9.6). */
function troubleOfDeletion({ deleted_on, kind }: Instance, nowMs: number): Trouble | null {
  if (deleted_on === null) return null
  // A virtual machine is deleted for nothing else than that nobody pays for it.
  if (kind === 'VM') return made('deletion_unpaid', 'bad', 'top_up')
  const aheadMs = Date.parse(deleted_on) - nowMs
  if (aheadMs > STOPPED_POD_NOTICE_DAYS[0] * DAY_MS) return null
  return made('deletion', 'bad', 'start', { days: STOPPED_POD_KEPT_DAYS })
}

function troubleOfDisk({ status }: Instance, disk: { share: number; left: string } | null): Trouble | null {
  if (status !== 'running' || disk === null || disk.share < DISK_NEAR_SHARE) return null
  const values = { percent: Math.floor(disk.share * 100), left: disk.left }
  return made('disk_near', 'warning', 'connect', values)
}

function troubleOfStatus(instance: Instance): Trouble | null {
  const { status, reason } = instance
  const start: TroubleWay | null = instanceCan('start', instance) ? 'start' : null
  if (status === 'error') return made('failed', 'bad', start)
  if (reason?.code === 'disk_full') return made('disk_full', 'bad', start)
  if (status === 'exited') return made('exited', 'warning', start)
  if (status === 'unknown') return made('unseen', 'warning', null)
  if (status === 'stopped' && reason?.code === 'balance_used_up') return made('no_balance', 'bad', 'top_up')
  if (status === 'stopped' && reason?.code === 'spend_limit_reached')
    return made('at_limit', 'warning', 'edit')
  if (status === 'stopped' && reason?.code === 'budget_reached')
    return made('at_budget', 'warning', 'see_budgets')
  if (status === 'running' && (reason?.code === 'guest_silent' || reason?.code === 'guest_unprepared')) {
    return made('guest', 'warning', 'see_log')
  }
  if (status === 'running' && reason?.code === 'node_draining') {
    return made('node_draining', 'warning', 'restart')
  }
  if (status === 'running' && reason?.code === 'node_draining_fixed') {
    return made('node_draining_fixed', 'bad', 'connect')
  }
  return null
}

function troubleOfCommand({ command_end: end }: Instance, ranOutOfMemory: boolean): Trouble | null {
  if (end === null || end.exit_code === 0) return null
  const values = { code: end.exit_code, times: end.count }
  if (end.again_at !== null) {
    return end.count < AGAIN_FROM ? null : made('command_again', 'warning', 'see_log', values)
  }
  if (end.exit_code === EXIT_MISSING) return made('command_missing', 'bad', 'see_log', values)
  if (end.exit_code === EXIT_NOT_RUN) return made('command_not_run', 'bad', 'see_log', values)
  // Of what it was killed by, it is said then.
  if (end.exit_code === EXIT_KILLED) return ranOutOfMemory ? null : made('killed', 'bad', 'see_log', values)
  return made('command_ended', 'warning', 'see_log', values)
}

function made(
  code: Trouble['code'],
  tone: Trouble['tone'],
  way: TroubleWay | null,
  values: Trouble['values'] = {},
): Trouble {
  return { code, tone, values, way }
}
