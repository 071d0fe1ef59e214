import { addressObstacle, type InstanceAction } from '@berth/contract/instance-states'
import type { InstanceChange } from '@berth/contract/instances'
import type { PublicIp } from '@berth/contract/public-ip'
import { bindPublicIp } from '@berth/contract/public-ip-calls'
import type { Transaction } from '../../../platform/database/database.ts'
import { notify } from '../../../platform/database/open-database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { earlierResult, keepResult } from '../../../platform/once.ts'
import { type ActionDeps, act, type Target } from '../act/actions.ts'
import { addEvent, INSTANCE_CHANNEL } from '../change-status.ts'
import type { InstanceRow } from '../rows.ts'
import { requirePrice } from '../terms/term-checks.ts'
import { dedicatedOf } from './address.ts'
import { beginCost, holdHour, leave } from './follow.ts'

/** What a bind asks for. */
export interface BindWanted {
  /** That of the instance. */
  regionCode: string
  /** What an hour was shown at; null takes it as it is. */
  priceMicro: string | null
  /** What is repeated with its key does nothing again (B3). */
  idempotencyKey: string
}

/**
 * Gives an instance an address of its own, sets an hour of it aside, and meters it from now until it is given back. The
 * same key again gives the address that it was, as long as the instance has it.
 * @throws ApiError `not_found`, `instance_state`, `public_ip_bound`, `public_ip_no_ports`, `public_ip_sold_out`,
 *   `price_changed`, `insufficient_balance`, or `validation_failed` for another region.
 */
export async function bind(deps: ActionDeps, target: Target, wanted: BindWanted): Promise<PublicIp> {
  const { publicIps, clock } = deps
  const call = { userId: target.userId, operation: bindPublicIp.operation, key: wanted.idempotencyKey }
  let id: string | null = null
  await act(
    deps,
    target,
    'bind_public_ip',
    async (tx, row, at) => {
      if (row.regionCode !== wanted.regionCode) {
        throw new ApiError('validation_failed', { fields: [{ path: 'region_code', rule: 'not_allowed' }] })
      }
      await requireNoObstacle(deps, tx, row, 'bind_public_ip')
      const { microPerHour } = publicIps
      if (wanted.priceMicro !== null) requirePrice(wanted.priceMicro, microPerHour)
      const { regionCode, userId } = row
      const bound = await publicIps.take(tx, { regionCode, userId, instanceId: row.id, microPerHour })
      id = bound.id
      await keepResult(tx, call, bound.id)
      await holdHour(tx, deps, bound)
      await beginCost(tx, deps, { row, bound, at })
      await tell(tx, row, { at, code: 'public_ip_bound', detail: bound.address })
      return row
    },
    async tx => {
      id = await earlierResult(tx, call, clock.now())
      return id !== null
    },
  )
  const bound = await publicIps.boundTo(deps.db, target.instanceId)
  if (!bound || bound.id !== id) throw new ApiError('not_found')
  return dedicatedOf(bound)
}

/**
 * Gives an instance's address back. What it has cost until now is charged; others may get it.
 * @throws ApiError `not_found`, also for an id of somebody else, or `instance_state`.
 */
export async function unbind(
  deps: ActionDeps,
  { userId, id }: { userId: string; id: string },
): Promise<InstanceChange> {
  const instanceId = await deps.publicIps.instanceOf(userId, id)
  // Whoever is not a customer any more is told so first, whatever they ask for.
  const target = { userId, instanceId: instanceId ?? '' }
  return act(deps, target, 'unbind_public_ip', async (tx, row, at) => {
    const bound = await deps.publicIps.boundTo(tx, row.id)
    if (bound?.id !== id) throw new ApiError('not_found')
    await leave(tx, deps, bound, at)
    await tell(tx, row, { at, code: 'public_ip_unbound', detail: bound.address })
    return row
  })
}

async function requireNoObstacle(
  { publicIps }: ActionDeps,
  tx: Transaction,
  row: InstanceRow,
  action: InstanceAction,
): Promise<void> {
  const bound = await publicIps.boundTo(tx, row.id)
  const eip = bound && ({ type: 'dedicated' } as const)
  const obstacle = addressObstacle(action, { eip, tcp_ports: row.tcpPorts, udp_ports: row.udpPorts })
  if (obstacle) throw new ApiError(obstacle)
}

async function tell(tx: Transaction, row: InstanceRow, event: Parameters<typeof addEvent>[2]): Promise<void> {
  await addEvent(tx, row, event)
  await notify(tx, INSTANCE_CHANNEL, row.id)
}
