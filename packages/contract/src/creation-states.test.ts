import { expect, test } from 'vitest'
import {
  CREATION_ACTIONS,
  CREATION_FOLLOWS,
  CREATION_STATUSES,
  type CreationStatus,
  creationCan,
  OPEN_CREATION_STATUSES,
} from './creation-states.ts'

/** What is allowed when, written down a second time on purpose: a row that is changed by mistake is found here. */
const EXPECTED: Record<(typeof CREATION_ACTIONS)[number], CreationStatus[]> = {
  stop: ['queued', 'rendering', 'encoding'],
  star: ['saved'],
  retry: ['failed', 'stopped'],
}

test('what customers may do with a picture or a film is as its status says', () => {
  for (const action of CREATION_ACTIONS) {
    const allowed = CREATION_STATUSES.filter(status => creationCan(action, status))
    expect(allowed, action).toEqual(EXPECTED[action])
  }
})

test('what is saved stays, what was not made begins anew alone, and whatever is under way can end in each way', () => {
  for (const status of CREATION_STATUSES) {
    const isOpen = OPEN_CREATION_STATUSES.includes(status)
    const follows = CREATION_FOLLOWS[status]
    if (isOpen) expect(follows, status).toEqual(expect.arrayContaining(['failed', 'stopped']))
    else expect(follows, status).toEqual(creationCan('retry', status) ? ['queued'] : [])
    // Nothing is charged that was not all but finished.
    expect(follows.includes('saved'), status).toBe(status === 'encoding')
  }
})
