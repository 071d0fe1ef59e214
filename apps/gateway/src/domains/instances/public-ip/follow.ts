import type { InstanceStatus } from '@berth/contract/instance-states'
import { PUBLIC_IP_SKU } from '../../../platform/config/skus.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import type { Billing, Meter, Subject } from '../../billing/billing.ts'
import type { BoundIp, PublicIps } from '../../public-ips/public-ips.ts'
import type { InstanceRow } from '../rows.ts'

export interface AddressDeps {
  billing: Pick<Billing, 'openMeters' | 'closeMeters' | 'releaseHold'>
  publicIps: Pick<PublicIps, 'boundTo' | 'giveBack' | 'noteCost'>
}

/** An address as billing knows it: each time that it is given it is another subject. */
export const publicIpSubject = (id: string): Subject => ({ kind: 'public_ip', id })

/**
 * Statuses from which on an address costs that came with the deploy: the instance has been ready, or its customer has
 * stopped it before. From then on it costs in every status, until it is given back.
 */
const COSTS_FROM: readonly InstanceStatus[] = ['running', 'stopped', 'exited']

/**
 * Does with an instance's address what follows from a change of its status. What is removed gives it back at once; so
 * does what failed before it was ever ready, for which nobody pays. The caller holds the wallet's and the row's lock.
 * @param row The row as it is now.
 * @returns The address that it has given back, to be told of.
 */
export async function followStatus(
  tx: Transaction,
  deps: AddressDeps,
  row: InstanceRow,
  at: Date,
): Promise<BoundIp | null> {
  const isLeaving = row.desired === 'terminated'
  const mayCost = COSTS_FROM.includes(row.status)
  if (!isLeaving && !mayCost && row.status !== 'error') return null
  const bound = await deps.publicIps.boundTo(tx, row.id)
  if (!bound) return null
  if (isLeaving || (row.status === 'error' && bound.costsFrom === null)) return leave(tx, deps, bound, at)
  if (mayCost && bound.costsFrom === null) await beginCost(tx, deps, { row, bound, at })
  return null
}

/** Sets the first hour of an address aside. @throws ApiError `insufficient_balance`. */
export async function holdHour(
  tx: Transaction,
  { billing }: { billing: Pick<Billing, 'hold'> },
  bound: BoundIp,
): Promise<void> {
  const { id, userId, microPerHour } = bound
  await billing.hold(tx, { userId, subject: publicIpSubject(id), amountMicro: microPerHour })
}

/** From then on an address costs. */
export async function beginCost(
  tx: Transaction,
  { billing, publicIps }: AddressDeps,
  { row, bound, at }: { row: Pick<InstanceRow, 'id' | 'name'>; bound: BoundIp; at: Date },
): Promise<void> {
  await publicIps.noteCost(tx, row.id, at)
  if (bound.microPerHour === 0n) return
  await billing.openMeters(tx, {
    userId: bound.userId,
    subject: publicIpSubject(bound.id),
    name: bound.address,
    facts: { instance_id: row.id, instance_name: row.name },
    meters: [meterOf(bound)],
    // As the disk of a stopped instance does, it goes on where the wallet is empty, and is waived.
    stopsWhenEmpty: false,
    at,
  })
}

/** Takes an instance's address back, and ends what it costs. */
export async function leave(
  tx: Transaction,
  { billing, publicIps }: AddressDeps,
  bound: BoundIp,
  at: Date,
): Promise<BoundIp> {
  const key = { userId: bound.userId, subject: publicIpSubject(bound.id) }
  await billing.closeMeters(tx, { ...key, at })
  await billing.releaseHold(tx, key)
  await publicIps.giveBack(tx, bound.instanceId)
  return bound
}

function meterOf({ address, microPerHour }: BoundIp): Meter {
  return { sku: PUBLIC_IP_SKU, label: address, unit: 'hour', quantity: 1, rateMicro: microPerHour }
}
