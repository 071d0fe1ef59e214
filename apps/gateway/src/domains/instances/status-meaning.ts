import type { InstanceStatus } from '@berth/contract/instance-states'
import { SYSTEM_DISK_FREE_GB } from '@berth/contract/limits'
import { CONTAINER_DISK_SKU, computeSku } from '../../platform/config/skus.ts'
import type { Meter } from '../billing/billing.ts'
import type { InstanceRow } from './rows.ts'

interface Meaning {
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
  creating: { hold: true, gpus: true },
  pulling: { hold: true, gpus: true },
  running: { hold: true, gpus: true },
  restarting: { hold: true, gpus: true },
  // Nobody can say that it runs, so it is not charged; but it may run, so its GPUs are nobody else's.
  unknown: { hold: true, gpus: true },
  imageBuilding: { hold: true, gpus: true },
  stopping: { hold: false, gpus: true },
  deleting: { hold: false, gpus: true },
  stopped: { hold: false, gpus: false },
  exited: { hold: false, gpus: false },
  error: { hold: false, gpus: false },
}

type MeterName = 'compute' | 'container_disk'
type RunningMeters = Partial<Record<InstanceStatus, readonly MeterName[]>>

/**
 * What is metered by the hour: begins when the machine is ready, and ends when the customer asks for a stop, a restart
 * or the end, not when a slow driver gets round to it (B6). A stopped machine keeps its disk (R4.7). In a status that
 * is not named nothing runs: an error costs nothing at all.
 */
const ON_DEMAND: RunningMeters = {
  running: ['compute', 'container_disk'],
  stopped: ['container_disk'],
  exited: ['container_disk'],
}

/** What is paid in advance runs no meters, whatever its status. */
const IN_ADVANCE: RunningMeters = {}

/** Which meters run: status × kind × billing type. */
const METERS: Record<InstanceRow['kind'], Record<InstanceRow['billingType'], RunningMeters>> = {
  POD: { postpay: ON_DEMAND, prepay: IN_ADVANCE },
  VM: { postpay: ON_DEMAND, prepay: IN_ADVANCE },
}

/** What an instance costs by the hour, as it was quoted, and what its meters are called by. */
type Metered = Pick<
  InstanceRow,
  | 'status'
  | 'kind'
  | 'billingType'
  | 'terminatedAt'
  | 'gpuSpecId'
  | 'gpuCount'
  | 'spec'
  | 'containerDiskGb'
  | 'runningMicroPerHour'
  | 'stoppedMicroPerHour'
>

/**
 * The meters of an instance that run in its status, the main one first; none of what costs nothing.
 * @returns Also whether the instance is stopped when nothing is left to pay for them.
 */
export function metersOf(row: Metered): { meters: Meter[]; stopsWhenEmpty: boolean } {
  const running = row.terminatedAt ? [] : (METERS[row.kind][row.billingType][row.status] ?? [])
  const meters = running.map(name => METER_OF[name](row)).filter(({ rateMicro }) => rateMicro > 0n)
  return { meters, stopsWhenEmpty: running.includes('compute') }
}

const METER_OF: Record<MeterName, (row: Metered) => Meter> = {
  compute: row => ({
    sku: computeSku(row.gpuSpecId),
    label: row.spec.name,
    unit: 'hour',
    ...each(row.runningMicroPerHour - row.stoppedMicroPerHour, row.gpuCount),
  }),
  container_disk: row => ({
    sku: CONTAINER_DISK_SKU,
    label: `${row.containerDiskGb} GB`,
    unit: 'gb_hour',
    ...each(row.stoppedMicroPerHour, row.containerDiskGb - SYSTEM_DISK_FREE_GB),
  }),
}

/** What each of several costs; where their price was not a whole number for each, they are one. */
function each(micro: bigint, quantity: number): Pick<Meter, 'quantity' | 'rateMicro'> {
  const whole = quantity > 0 && micro % BigInt(quantity) === 0n
  return whole ? { quantity, rateMicro: micro / BigInt(quantity) } : { quantity: 1, rateMicro: micro }
}
