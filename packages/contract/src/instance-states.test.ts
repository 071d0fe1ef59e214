import { describe, expect, test } from 'vitest'
import {
  CHANGING_STATUSES,
  INSTANCE_ACTIONS,
  INSTANCE_STATUSES,
  type InstanceAction,
  type InstanceKind,
  type InstanceStatus,
  instanceCan,
  STATUS_FOLLOWS,
  STATUS_ON_ACTION,
  statusesFor,
} from './instance-states.ts'

const KINDS: readonly InstanceKind[] = ['POD', 'VM']

/** The seed's statuses, in its order. */
const SEED_STATUSES = [
  'running',
  'restarting',
  'stopped',
  'stopping',
  'exited',
  'pulling',
  'imageBuilding',
  'error',
  'creating',
  'deleting',
  'unknown',
]

/**
 * What is allowed when, written down a second time on purpose: a row that is changed in the product alone, by
 * mistake, is found here. `both` stands for both kinds.
 */
const EXPECTED = `
  action                 kind running restarting stopped stopping exited pulling imageBuilding error creating deleting unknown
  start                  both -       -          yes     -        yes    -       -             yes   -        -        -
  stop                   both yes     yes        -       -        -      yes     -             -     yes      -        yes
  restart                both yes     -          -       -        -      -       -             -     -        -        -
  terminate              both yes     yes        yes     yes      yes    yes     yes           yes   yes      yes      yes
  edit                   both yes     -          yes     -        yes    -       -             yes   -        -        -
  connect                both yes     -          -       -        -      -       -             -     -        -        -
  create_image           POD  yes     -          -       -        -      -       -             -     -        -        -
  create_image           VM   -       -          yes     -        -      -       -             -     -        -        -
  bind_public_ip         both yes     -          yes     -        yes    -       -             -     -        -        -
  unbind_public_ip       both yes     -          yes     -        yes    -       -             yes   -        -        -
  attach_volume          both -       -          yes     -        yes    -       -             yes   -        -        -
  detach_volume          both -       -          yes     -        yes    -       -             yes   -        -        -
  renew                  both yes     yes        yes     yes      yes    yes     yes           yes   yes      -        yes
  cancel_renewal         both yes     yes        yes     yes      yes    yes     yes           yes   yes      -        yes
  switch_to_subscription both yes     -          -       -        -      -       -             -     -        -        -
  toggle_renewal         both yes     yes        yes     yes      yes    yes     yes           yes   yes      -        yes
  convert_charge_type    both yes     -          yes     -        yes    -       -             yes   -        -        -
`

describe('which action is allowed in which status', () => {
  const expected = readTable(EXPECTED)

  test('[R4.4] the statuses are the eleven of the seed', () => {
    expect(INSTANCE_STATUSES).toEqual(SEED_STATUSES)
  })

  test('[R4.5] every action of the seed is there, and the expected table has a row for each', () => {
    expect([...INSTANCE_ACTIONS].sort()).toEqual(
      [
        'attach_volume',
        'bind_public_ip',
        'cancel_renewal',
        'connect',
        'convert_charge_type',
        'create_image',
        'detach_volume',
        'edit',
        'renew',
        'restart',
        'start',
        'stop',
        'switch_to_subscription',
        'terminate',
        'toggle_renewal',
        'unbind_public_ip',
      ].sort(),
    )
    expect(expected.size).toBe(INSTANCE_ACTIONS.length * INSTANCE_STATUSES.length * KINDS.length)
  })

  for (const action of INSTANCE_ACTIONS) {
    for (const kind of KINDS) {
      test(`[R4.4] [R4.5] ${action} of a ${kind}, status by status`, () => {
        for (const status of INSTANCE_STATUSES) {
          expect(instanceCan(action, { kind, status }), `${action} on ${kind} ${status}`).toBe(
            expected.get(`${action} ${kind} ${status}`),
          )
        }
      })
    }
  }

  test('[R4.5] delete is allowed from every status', () => {
    for (const kind of KINDS)
      for (const status of INSTANCE_STATUSES) expect(instanceCan('terminate', { kind, status })).toBe(true)
  })

  test('[R4.6] an image of a POD needs it running, an image of a VM needs it stopped', () => {
    expect(statusesFor('create_image', 'POD')).toEqual(['running'])
    expect(statusesFor('create_image', 'VM')).toEqual(['stopped'])
    expect(instanceCan('create_image', { kind: 'POD', status: 'stopped' })).toBe(false)
    expect(instanceCan('create_image', { kind: 'VM', status: 'running' })).toBe(false)
  })

  test('the statuses given as a reason are those that the check accepts', () => {
    for (const { action, kind, status } of everyCase())
      expect(statusesFor(action, kind).includes(status)).toBe(instanceCan(action, { kind, status }))
  })
})

describe('which status may follow which', () => {
  test('[R4.4] an accepted action always leads to a status that may follow', () => {
    for (const { action, kind, status } of everyCase()) {
      const next = STATUS_ON_ACTION[action]
      // An action that is repeated, such as a second delete, changes nothing and needs no step in the table.
      if (next === null || next === status || !instanceCan(action, { kind, status })) continue
      expect(STATUS_FOLLOWS[status], `${action} takes a ${kind} from ${status} to ${next}`).toContain(next)
    }
  })

  test('[R4.4] every status can be reached from the first one', () => {
    expect([...reachableFrom('creating')].sort()).toEqual([...SEED_STATUSES].sort())
  })

  test('[R4.4] no status is a dead end, and none follows itself', () => {
    for (const status of INSTANCE_STATUSES) {
      expect(STATUS_FOLLOWS[status]).not.toHaveLength(0)
      expect(STATUS_FOLLOWS[status]).not.toContain(status)
      expect(new Set(STATUS_FOLLOWS[status]).size).toBe(STATUS_FOLLOWS[status].length)
    }
  })

  test('[R4.4] what was lost from sight can be seen again in the status that it was lost in', () => {
    for (const status of INSTANCE_STATUSES) {
      if (STATUS_FOLLOWS[status].includes('unknown')) expect(STATUS_FOLLOWS.unknown).toContain(status)
    }
  })

  test('[R4.4] a delete is never undone: only its failure ends it', () => {
    expect(STATUS_FOLLOWS.deleting).toEqual(['error'])
  })

  test('[R4.4] only a running machine is restarted or imaged without being made anew, and stopping ends stopped', () => {
    expect(STATUS_FOLLOWS.stopped).not.toContain('running')
    expect(STATUS_FOLLOWS.stopped).not.toContain('restarting')
    expect(STATUS_FOLLOWS.stopping).not.toContain('running')
    expect(STATUS_FOLLOWS.stopping).toContain('stopped')
  })

  test('every work under way can fail, and the status that an action begins with counts as under way', () => {
    for (const status of CHANGING_STATUSES) expect(STATUS_FOLLOWS[status]).toContain('error')
    for (const action of INSTANCE_ACTIONS) {
      const next = STATUS_ON_ACTION[action]
      if (next !== null) expect(CHANGING_STATUSES).toContain(next)
    }
  })
})

/** Reads the table above: `action kind status` to whether it is allowed. */
function readTable(text: string): Map<string, boolean> {
  const [header, ...rows] = text
    .trim()
    .split('\n')
    .map(line => line.trim().split(/\s+/))
  const allowed = new Map<string, boolean>()
  for (const [action, kind, ...marks] of rows) {
    for (const one of kind === 'both' ? KINDS : [kind]) {
      for (const [index, mark] of marks.entries())
        allowed.set(`${action} ${one} ${header?.[index + 2]}`, mark === 'yes')
    }
  }
  return allowed
}

function everyCase(): { action: InstanceAction; kind: InstanceKind; status: InstanceStatus }[] {
  return INSTANCE_ACTIONS.flatMap(action =>
    KINDS.flatMap(kind => INSTANCE_STATUSES.map(status => ({ action, kind, status }))),
  )
}

function reachableFrom(first: InstanceStatus): Set<InstanceStatus> {
  const seen = new Set<InstanceStatus>([first])
  // A set that grows while it is walked is walked to its end.
  for (const status of seen) for (const next of STATUS_FOLLOWS[status]) seen.add(next)
  return seen
}
