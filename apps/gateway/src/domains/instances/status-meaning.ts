import type { InstanceStatus } from '@berth/contract/instance-states'
import { SYSTEM_DISK_FREE_GB } from '@berth/contract/limits'
import { CONTAINER_DISK_SKU, computeSku, OWN_DISK_SKUS } from '../../platform/config/skus.ts'
import type { Meter } from '../billing/billing.ts'
import { type OwnDiskColumns, ownDiskOf } from './own-disk.ts'
import type { InstanceRow } from './rows.ts'
import { inTerm, type TermState } from './terms/term-rules.ts'

interface Meaning {
  /**
   * Whether what its customer put into the machine may run there; null where that is as it was before. A stop that was
   * asked for ends nothing until the engine has confirmed it.
   */
  mayRun: boolean | null
  /** Whether the first hour stays set aside: while a start is under way and while it runs. */
  hold: boolean
  /** Whether its GPUs stay taken: until the driver has confirmed that nothing runs, or has been given up on. */
  gpus: boolean
}

/**
 * What each status means for what is set aside and for the stock. Every change of status goes through this table and
 * the next one, so that no path can forget to end a charge.
 */
export const MEANING: Record<InstanceStatus, Meaning> = {
  creating: { mayRun: null, hold: true, gpus: true },
  pulling: { mayRun: null, hold: true, gpus: true },
  running: { mayRun: true, hold: true, gpus: true },
  restarting: { mayRun: null, hold: true, gpus: true },
  // Nobody can say that it runs, so it is not charged; but it may run, so its GPUs are nobody else's.
  unknown: { mayRun: false, hold: true, gpus: true },
  imageBuilding: { mayRun: null, hold: true, gpus: true },
  stopping: { mayRun: null, hold: false, gpus: true },
  deleting: { mayRun: null, hold: false, gpus: true },
  stopped: { mayRun: false, hold: false, gpus: false },
  exited: { mayRun: false, hold: false, gpus: false },
  error: { mayRun: false, hold: false, gpus: false },
}

type MeterName = 'compute' | 'disks'

interface Metering {
  /** While what its customer put into the machine may run, whatever the status. */
  mayRun: readonly MeterName[]
  /** While it does not, by status; in one that is not named nothing runs. */
  atRest: Partial<Record<InstanceStatus, readonly MeterName[]>>
}

/**
 * What is metered by the hour: all the time in which its customer's programs may run, which begins when the machine is
 * ready (B6) and ends when the engine has confirmed that nothing runs. A stopped machine keeps its disks (R4.7). An
 * error costs nothing at all.
 */
const ON_DEMAND: Metering = {
  mayRun: ['compute', 'disks'],
  atRest: { stopped: ['disks'], exited: ['disks'] },
}

/** What is paid in advance runs no meters, whatever its status. */
const IN_ADVANCE: Metering = { mayRun: [], atRest: {} }

/** Before the first term, which begins when the machine is ready, there may be a disk already. */
const BEFORE_TERM: Metering = { mayRun: [], atRest: ON_DEMAND.atRest }

/** What an instance costs by the hour, as it was quoted, and what its meters are called by. */
type DiskColumns = OwnDiskColumns & Pick<InstanceRow, 'containerDiskGb'>

type Metered = Pick<
  InstanceRow,
  | 'status'
  | 'mayRun'
  | keyof TermState
  | 'gpuSpecId'
  | 'gpuCount'
  | 'spec'
  | keyof DiskColumns
  | 'runningMicroPerHour'
  | 'stoppedMicroPerHour'
>

/**
 * The first hour stays set aside for as long as it may be used, also while a stop is under way: what runs until then
 * would find an empty wallet. Of what is paid in advance, the price of its first term is set aside until that begins.
 */
export function isHeld(row: Pick<InstanceRow, 'status' | 'mayRun'> & TermState): boolean {
  if (row.billingType === 'prepay' && row.expiryTime !== null) return false
  return MEANING[row.status].hold || row.mayRun
}

/**
 * The meters of an instance that run in its status, the main one first; none of what costs nothing.
 * @returns Also whether the instance is stopped when nothing is left to pay for them.
 */
export function metersOf(row: Metered): { meters: Meter[]; stopsWhenEmpty: boolean } {
  const metering = meteringOf(row)
  const running = row.mayRun ? metering.mayRun : (metering.atRest[row.status] ?? [])
  const meters = (row.terminatedAt ? [] : running)
    .flatMap(name => METERS_OF[name](row))
    .filter(({ rateMicro }) => rateMicro > 0n)
  return { meters, stopsWhenEmpty: running.includes('compute') }
}

function meteringOf(row: TermState): Metering {
  if (inTerm(row)) return IN_ADVANCE
  return row.billingType === 'prepay' ? BEFORE_TERM : ON_DEMAND
}

/** What a term is paid for, the main one first: all together are its price, to the micro-unit. */
export function termMetersOf(
  row: DiskColumns &
    Pick<InstanceRow, 'gpuSpecId' | 'gpuCount' | 'spec' | 'chargeCycle' | 'termMicro' | 'termDiskMicro'>,
): Meter[] {
  const { termMicro, termDiskMicro } = row
  if (termMicro === null || termDiskMicro === null) throw new Error('an instance on demand has no terms')
  const isWeek = row.chargeCycle === 'weekly'
  const machine: Meter = {
    sku: computeSku(row.gpuSpecId),
    label: row.spec.name,
    unit: isWeek ? 'week' : 'month',
    ...each(termMicro - termDiskMicro, row.gpuCount),
  }
  const disks = diskMeters(row, termDiskMicro, isWeek ? 'gb_week' : 'gb_month')
  return [machine, ...disks.filter(({ rateMicro }) => rateMicro > 0n)]
}

const METERS_OF: Record<MeterName, (row: Metered) => Meter[]> = {
  compute: row => [
    {
      sku: computeSku(row.gpuSpecId),
      label: row.spec.name,
      unit: 'hour',
      ...each(row.runningMicroPerHour - row.stoppedMicroPerHour, row.gpuCount),
    },
  ],
  disks: row => diskMeters(row, row.stoppedMicroPerHour, 'gb_hour'),
}

/** A meter for each disk of an instance. A GB costs the same on all of them, so what they cost together says what each does. */
function diskMeters(row: DiskColumns, micro: bigint, unit: Meter['unit']): Meter[] {
  const paidGb = Math.max(0, row.containerDiskGb - SYSTEM_DISK_FREE_GB)
  const own = ownDiskOf(row)
  const ownMicro = own ? (micro / BigInt(paidGb + own.sizeGb)) * BigInt(own.sizeGb) : 0n
  const container: Meter = {
    sku: CONTAINER_DISK_SKU,
    label: `${row.containerDiskGb} GB`,
    unit,
    ...each(micro - ownMicro, paidGb),
  }
  if (!own) return [container]
  const beside: Meter = {
    sku: OWN_DISK_SKUS[own.kind],
    label: `${own.sizeGb} GB`,
    unit,
    ...each(ownMicro, own.sizeGb),
  }
  return [container, beside]
}

/** What each of several costs; where their price was not a whole number for each, they are one. */
function each(micro: bigint, quantity: number): Pick<Meter, 'quantity' | 'rateMicro'> {
  const whole = quantity > 0 && micro % BigInt(quantity) === 0n
  return whole ? { quantity, rateMicro: micro / BigInt(quantity) } : { quantity: 1, rateMicro: micro }
}
