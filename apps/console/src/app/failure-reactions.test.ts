import type { ErrorCode } from '@berth/contract/errors'
import { expect, test } from 'vitest'
import { ApiError } from '../api/api-error.ts'
import { createCauseFilter } from '../api/cause-filter.ts'
import { createFailureReactions } from './failure-reactions.ts'

const ALOUD = { silent: false, aboutSession: false }
const SILENT = { silent: true, aboutSession: false }

test('[R8.1] a lost login leaves the page and says why, once for all calls that meet it', () => {
  const world = makeWorld()
  world.react(error('login_expired', 401), ALOUD)
  world.react(error('login_required', 401), ALOUD)
  world.react(error('login_expired', 401), SILENT)
  expect(world.left).toEqual(['login_expired'])
  expect(world.toasts).toEqual([])
})

test('[R2.3] on a page that guests may see a 401 is tolerated', () => {
  const world = makeWorld({ open: true })
  world.react(error('login_expired', 401), ALOUD)
  expect(world.left).toEqual([])
  expect(world.toasts).toEqual([])
})

test('[R4.10] an expired password ends the session, on any page', () => {
  for (const open of [true, false]) {
    const world = makeWorld({ open })
    world.react(error('password_expired', 200), SILENT)
    expect(world.left).toEqual(['password_expired'])
  }
})

test('a terminal ticket that ran out is no lost login', () => {
  const world = makeWorld()
  world.react(error('terminal_ticket_invalid', 401), ALOUD)
  expect(world.left).toEqual([])
  expect(world.toasts).toEqual(['terminal_ticket_invalid'])
})

test('[R8.1] who must sign out first is signed out, at the gateway too, and logs in again', () => {
  const world = makeWorld()
  world.react(error('sign_out_first', 200), SILENT)
  expect(world.signedOutFirst).toBe(1)
  expect(world.toasts).toEqual([])
  // The log-in form does that by itself, and tries again.
  world.react(error('sign_out_first', 200), { ...SILENT, aboutSession: true })
  expect(world.signedOutFirst).toBe(1)
})

test('what signing in answers is left to its page', () => {
  const world = makeWorld()
  world.react(error('login_expired', 401), { ...SILENT, aboutSession: true })
  expect(world.left).toEqual([])
})

test('[R8.1] every other failure is a toast unless its caller shows it', () => {
  const world = makeWorld()
  world.react(error('forbidden', 403), ALOUD)
  world.react(error('gpu_sold_out', 409), SILENT)
  expect(world.toasts).toEqual(['forbidden'])
})

test('[R8.2] ten calls that fail for one reason make one toast', () => {
  const world = makeWorld()
  for (let count = 0; count < 10; count += 1) world.react(error('network', 0), ALOUD)
  expect(world.toasts).toEqual(['network'])
})

function makeWorld({ open = false } = {}) {
  const world = { loggedIn: true, left: [] as string[], toasts: [] as string[], signedOutFirst: 0 }
  const react = createFailureReactions({
    isOpenPage: () => open,
    isLoggedIn: () => world.loggedIn,
    leave: note => {
      world.left.push(note)
      world.loggedIn = false
    },
    signOutFirst: () => {
      world.signedOutFirst += 1
    },
    mayShow: createCauseFilter(() => 0),
    toast: message => world.toasts.push(message),
  })
  return Object.assign(world, { react })
}

function error(code: ErrorCode, status: number): ApiError {
  return new ApiError({ code, status, message: code, operation: 'instance.list' })
}
