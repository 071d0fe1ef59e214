import {
  INSTANCE_STATUSES,
  type InstanceStatus,
  instanceCan,
  statusesFor,
} from '@berth/contract/instance-states'
import { describe, expect, test } from 'vitest'
import {
  allowedOnlyIn,
  ipObstacle,
  isOffered,
  paidObstacle,
  primaryAction,
  ROW_ACTIONS,
  tableAction,
} from './instance-actions.ts'
import { madeInstance } from './instance-fixture.ts'

const NO_VOLUME = { kind: 'POD', disks: madeInstance({}).disks } as const
const ON_DEMAND = {
  ...NO_VOLUME,
  billing_type: 'postpay',
  expiry_time: null,
  auto_renew: false,
  eip: null,
} as const
const IN_TERM = {
  ...NO_VOLUME,
  billing_type: 'prepay',
  expiry_time: '2026-03-10T12:00:00.000Z',
  auto_renew: true,
  eip: null,
} as const

describe.each(INSTANCE_STATUSES)('[R4.4] [R4.5] a row whose instance is %s', status => {
  const subject = { ...ON_DEMAND, status } as const

  test.each([ON_DEMAND, IN_TERM])(
    'offers exactly what the state table allows, and names the statuses for the rest',
    paid => {
      for (const action of ROW_ACTIONS) {
        const reason = allowedOnlyIn(action, { ...subject, ...paid })
        const asked = tableAction(action, paid)
        if (asked === null) {
          expect(['events', 'logs', 'repeat']).toContain(action)
          expect(reason).toBeNull()
          continue
        }
        expect(reason, action).toEqual(instanceCan(asked, subject) ? null : statusesFor(asked, 'POD'))
        if (reason) expect(reason, action).not.toContain(status)
      }
    },
  )

  test('shows a button that can be pressed', () => {
    expect(allowedOnlyIn(primaryAction(subject), subject)).toBeNull()
  })
})

test('[R4.5] the button is what one most likely wants next', () => {
  const wanted: Record<InstanceStatus, string> = {
    running: 'connect',
    stopped: 'start',
    exited: 'start',
    error: 'events',
    creating: 'events',
    pulling: 'events',
    restarting: 'events',
    stopping: 'events',
    imageBuilding: 'events',
    deleting: 'events',
    unknown: 'events',
  }
  for (const status of INSTANCE_STATUSES) {
    expect(primaryAction({ kind: 'POD', status }), status).toBe(wanted[status])
  }
})

test('[R4.3] [R4.5] what runs on demand has nothing to renew and may be switched; a term may be renewed or cancelled', () => {
  expect(ROW_ACTIONS.filter(action => !isOffered(action, ON_DEMAND))).toEqual([
    'renew',
    'toggle_renewal',
    'unbind_public_ip',
    'detach_volume',
  ])
  expect(ROW_ACTIONS.filter(action => !isOffered(action, IN_TERM))).toEqual([
    'unbind_public_ip',
    'detach_volume',
  ])
  expect(tableAction('convert_charge_type', ON_DEMAND)).toBe('switch_to_subscription')
  expect(tableAction('convert_charge_type', IN_TERM)).toBe('convert_charge_type')
  expect(tableAction('toggle_renewal', IN_TERM)).toBe('cancel_renewal')
  expect(tableAction('toggle_renewal', { ...IN_TERM, auto_renew: false })).toBe('toggle_renewal')
  expect(ROW_ACTIONS.map(action => paidObstacle(action, IN_TERM)).filter(code => code !== null)).toEqual([])
  expect(paidObstacle('renew', { ...IN_TERM, expiry_time: null })).toBe('term_not_begun')
})

test('[R2.25] [R4.5] an address of its own is bound or given back, and bound only to what has ports that answer there', () => {
  const shared = { ...ON_DEMAND, eip: { type: 'shared' }, tcp_ports: [22], udp_ports: [] } as const
  const bound = { ...shared, eip: { type: 'dedicated' } } as const
  const offered = (subject: typeof shared | typeof bound) =>
    ROW_ACTIONS.filter(action => action.endsWith('public_ip') && isOffered(action, subject))
  expect(offered(shared)).toEqual(['bind_public_ip'])
  expect(offered(bound)).toEqual(['unbind_public_ip'])
  expect(ipObstacle('bind_public_ip', shared)).toBeNull()
  expect(ipObstacle('bind_public_ip', { ...shared, tcp_ports: [] })).toBe('public_ip_no_ports')
  expect(ipObstacle('bind_public_ip', { ...shared, tcp_ports: [], udp_ports: [53] })).toBeNull()
  expect(ipObstacle('unbind_public_ip', bound)).toBeNull()
  expect(ipObstacle('unbind_public_ip', shared)).toBe('public_ip_not_bound')
  expect(ipObstacle('stop', bound)).toBeNull()
})

test('[R2.25] [R4.5] a volume is attached to a pod that has none, or detached from one that has it, while it does not run', () => {
  const has = { ...NO_VOLUME.disks, network_volume: { id: 'v-000000', path: '/data' } }
  const offered = (change: object) =>
    ROW_ACTIONS.filter(action => action.endsWith('volume') && isOffered(action, { ...ON_DEMAND, ...change }))
  expect(offered({})).toEqual(['attach_volume'])
  expect(offered({ disks: has })).toEqual(['detach_volume'])
  expect(offered({ kind: 'VM' })).toEqual([])
  expect(allowedOnlyIn('detach_volume', { ...ON_DEMAND, status: 'running' })).toEqual([
    'stopped',
    'exited',
    'error',
  ])
})

test('[R4.5] termination is offered from every status', () => {
  for (const status of INSTANCE_STATUSES) {
    expect(allowedOnlyIn('terminate', { ...ON_DEMAND, kind: 'VM', status }), status).toBeNull()
  }
})
