import type { FieldRule } from '@berth/contract/errors'
import type { DeployBody } from '@berth/contract/instances'
import type { Queryable } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Found } from './check-volume.ts'

/** How many direct ports are left to give, by protocol; null where they are not counted, `none` where nobody reaches any. */
export type DirectPortsLeft = (q: Queryable) => Promise<Record<'tcp' | 'udp', number> | 'none' | null>

const NONE_LEFT = { tcp: 0, udp: 0 }

export type PortsAsked = Pick<DeployBody, 'http_ports' | 'tcp_ports' | 'udp_ports' | 'public_ip'>

/** Which field asks for more direct ports than are left, by which rule, how many and of how many; null where none does. */
async function beyond(q: Queryable, directPortsLeft: DirectPortsLeft, asked: PortsAsked) {
  // At an address of its own they are none of the pool.
  const found = asked.public_ip === 'dedicated' ? null : await directPortsLeft(q)
  if (!found) return null
  const left = found === 'none' ? NONE_LEFT : found
  const protocol = (['tcp', 'udp'] as const).find(one => asked[`${one}_ports`].length > left[one])
  if (!protocol) return null
  const field = `${protocol}_ports` as const
  const rule: FieldRule = found === 'none' ? 'direct_ports_not_offered' : 'direct_ports_used_up'
  return { rule, values: { field, wanted: asked[field].length, left: left[protocol] } }
}

/**
 * Refuses a deploy that asks for more direct ports than are left, or for any where nobody reaches them: an instance that nobody
 * reaches would cost money (B7).
 * @throws ApiError `validation_failed` with `direct_ports_used_up` or `direct_ports_not_offered`.
 */
export async function requireDirectPorts(
  q: Queryable,
  directPortsLeft: DirectPortsLeft,
  asked: PortsAsked,
): Promise<void> {
  const lacking = await beyond(q, directPortsLeft, asked)
  if (!lacking) return
  throw new ApiError('validation_failed', {
    fields: [{ path: lacking.values.field, rule: lacking.rule }],
  })
}

/** Whether ports can be had as they are asked for, as a check of a deploy; null where there is nothing to say of them. */
export async function portsCheck(
  q: Queryable,
  directPortsLeft: DirectPortsLeft,
  asked: PortsAsked,
): Promise<Found | null> {
  for (const field of ['http_ports', 'tcp_ports', 'udp_ports'] as const) {
    const twice = asked[field].find((port, at) => asked[field].indexOf(port) !== at)
    if (twice !== undefined) return [false, 'port_duplicate', { field, port: twice }]
  }
  const lacking = await beyond(q, directPortsLeft, asked)
  if (lacking) return [false, lacking.rule, lacking.values]
  // Nothing is wrong with that, but a program speaks one of the two.
  const both = asked.http_ports.find(port => asked.tcp_ports.includes(port))
  return both === undefined ? null : [true, 'port_both', { port: both }]
}
