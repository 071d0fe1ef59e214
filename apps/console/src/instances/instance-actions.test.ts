import {
  INSTANCE_STATUSES,
  type InstanceAction,
  type InstanceStatus,
  instanceCan,
  statusesFor,
} from '@berth/contract/instance-states'
import { describe, expect, test } from 'vitest'
import { allowedOnlyIn, primaryAction, ROW_ACTIONS } from './instance-actions.ts'

describe.each(INSTANCE_STATUSES)('[R4.4] [R4.5] a row whose instance is %s', status => {
  const subject = { kind: 'POD', status } as const

  test('offers exactly what the state table allows, and names the statuses for the rest', () => {
    for (const action of ROW_ACTIONS) {
      const reason = allowedOnlyIn(action, subject)
      if (action === 'events' || action === 'logs') {
        expect(reason).toBeNull()
        continue
      }
      const allowed = instanceCan(action satisfies InstanceAction, subject)
      expect(reason, action).toEqual(allowed ? null : statusesFor(action, 'POD'))
      if (reason) expect(reason, action).not.toContain(status)
    }
  })

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

test('[R4.5] termination is offered from every status', () => {
  for (const status of INSTANCE_STATUSES) {
    expect(allowedOnlyIn('terminate', { kind: 'VM', status }), status).toBeNull()
  }
})
