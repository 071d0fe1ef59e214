import type { User } from '@berth/contract/account'
import { expect, test } from 'vitest'
import { ApiError } from '../../api/api-error.ts'
import { createSession, type SessionDeps } from './session-store.ts'
import { usableAccount } from './usable-account.ts'

test('[R2.8] it is unknown who is signed in until the first look has an answer', async () => {
  const world = makeWorld({ token: 't', users: { t: mira } })
  expect(world.session.getState().isLoggedIn).toBeNull()
  await world.session.start()
  expect(world.session.getState().isLoggedIn).toBe(true)
})

test('[R4.1] a stored token whose account answers is a login', async () => {
  const world = makeWorld({ token: 't', users: { t: mira } })
  await world.session.start()
  expect(world.session.getState()).toEqual({ isLoggedIn: true, user: mira, failed: false })
  expect(world.cookies).toBe('u-mira')
})

test('[R4.1] without a token nobody is asked for', async () => {
  const world = makeWorld({ token: null, users: {} })
  await world.session.start()
  expect(world.session.getState().isLoggedIn).toBe(false)
  expect(world.log).toEqual([])
})

test('[R8.1] a token whose account is gone is forgotten, and the customer is told', async () => {
  const world = makeWorld({ token: 'old', users: {} })
  await world.session.start()
  expect(world.session.getState().isLoggedIn).toBe(false)
  expect(world.token).toBeNull()
  expect(world.log).toContain('user gone')
})

test('[R4.10] an account that needs a new password is left, here and at the gateway, and the customer is told', async () => {
  const world = makeWorld({ token: 't', users: { t: { ...mira, needUpdatePassword: true } } })
  await world.session.start()
  expect(world.session.getState().isLoggedIn).toBe(false)
  expect(world.token).toBeNull()
  expect(world.log).toEqual(['fetch', 'password expired', 'end', 'forget'])
})

test('[R4.10] signing in to an account that needs a new password fails and keeps nothing', async () => {
  const world = makeWorld({ token: null, users: { t: { ...mira, needUpdatePassword: true } } })
  await expect(world.session.signIn('t')).rejects.toMatchObject({ code: 'password_expired' })
  expect(world.token).toBeNull()
})

test.each([0, 500, 503, 429])(
  '[R2.19] an account call that ends with %i says nothing about the account: init failed, the token stays',
  async status => {
    const world = makeWorld({ token: 't', users: { t: mira }, failWith: status })
    await world.session.start()
    expect(world.session.getState()).toEqual({ isLoggedIn: null, user: null, failed: true })
    expect(world.token).toBe('t')
  },
)

test('signing in keeps the token only when its account answers', async () => {
  const world = makeWorld({ token: null, users: { t: mira } })
  await expect(world.session.signIn('wrong')).rejects.toBeInstanceOf(ApiError)
  expect(world.token).toBeNull()
  await world.session.signIn('t')
  expect(world.token).toBe('t')
  expect(world.session.getState().isLoggedIn).toBe(true)
})

test('[R2.7] logging out ends the session at the gateway and forgets everything here', async () => {
  const world = makeWorld({ token: 't', users: { t: mira } })
  await world.session.start()
  await world.session.signOut()
  expect(world.session.getState().isLoggedIn).toBe(false)
  expect(world.token).toBeNull()
  expect(world.cookies).toBeNull()
  expect(world.log).toEqual(['fetch', 'end', 'forget'])
})

test('a session that the gateway has ended is not ended there again', async () => {
  const world = makeWorld({ token: 't', users: { t: mira } })
  await world.session.start()
  await world.session.signOut({ ended: true })
  expect(world.log).toEqual(['fetch', 'forget'])
})

test('logging out works without the gateway', async () => {
  const world = makeWorld({ token: 't', users: { t: mira } })
  await world.session.start()
  world.failWith = 0
  await world.session.signOut()
  expect(world.session.getState().isLoggedIn).toBe(false)
})

test.each([
  ['the token is gone', { token: null }, ['reload']],
  ['another customer signed in', { token: 'k' }, ['fetch', 'reload']],
  ['the account is gone', { token: 'gone' }, ['fetch', 'reload']],
  ['nothing changed', { token: 't' }, ['fetch']],
  ['the gateway does not answer', { token: 't', failWith: 0 }, ['fetch']],
])('[R4.12] a tab that becomes visible when %s', async (_, change, log) => {
  const world = makeWorld({ token: 't', users: { t: mira, k: kim } })
  await world.session.start()
  world.log.length = 0
  Object.assign(world, change)
  await world.session.catchUp()
  expect(world.log).toEqual(log)
})

test('[R4.12] a tab that is told twice at once looks once', async () => {
  const world = makeWorld({ token: 't', users: { t: mira } })
  await world.session.start()
  world.log.length = 0
  await Promise.all([world.session.catchUp(), world.session.catchUp()])
  expect(world.log).toEqual(['fetch'])
})

test('[R4.12] a sign-out while it looks counts, whatever the look answers', async () => {
  const world = makeWorld({ token: 't', users: { t: mira } })
  await world.session.start()
  world.log.length = 0
  const looking = world.session.catchUp()
  world.token = null
  await looking
  expect(world.log).toEqual(['fetch', 'reload'])
})

test('[R4.12] one who is signed out already is not reloaded for it again', async () => {
  const world = makeWorld({ token: null, users: {} })
  await world.session.start()
  await world.session.catchUp()
  await world.session.catchUp()
  expect(world.log).toEqual([])
})

test('[R4.12] a guest whose other tab signed in goes home', async () => {
  const world = makeWorld({ token: null, users: { t: mira } })
  await world.session.start()
  world.token = 't'
  await world.session.catchUp()
  expect(world.log).toEqual(['fetch', 'home'])
  expect(world.session.getState().isLoggedIn).toBe(true)
})

test('listeners are told of every change until they leave', async () => {
  const world = makeWorld({ token: 't', users: { t: mira } })
  let told = 0
  const leave = world.session.subscribe(() => {
    told += 1
  })
  await world.session.start()
  leave()
  await world.session.signOut()
  expect(told).toBe(1)
})

const mira = { id: 'u-mira', email: 'mira@example.org' } as User
const kim = { id: 'u-kim', email: 'kim@example.org' } as User

interface World {
  token: string | null
  users: Record<string, User>
  failWith?: number
}

/** A browser's storage and a gateway's accounts, as plain values; `log` holds what was asked of them. */
function makeWorld(start: World) {
  const world = { ...start, log: [] as string[], cookies: null as string | null }
  const deps: SessionDeps = {
    readToken: () => world.token,
    writeToken: token => {
      world.token = token
    },
    async fetchUser() {
      world.log.push('fetch')
      const user = world.users[world.token ?? '']
      if (world.failWith !== undefined)
        throw failed(world.failWith, world.failWith === 0 ? 'network' : 'internal')
      if (!user) throw failed(401, 'login_expired')
      return usableAccount(user, 'expired')
    },
    async endSession() {
      world.log.push('end')
      if (world.failWith !== undefined) throw failed(world.failWith, 'network')
    },
    writeCookies: user => {
      world.cookies = user.id
    },
    clearCookies: () => {
      world.cookies = null
    },
    forget: () => world.log.push('forget'),
    onUserGone: () => world.log.push('user gone'),
    onPasswordExpired: () => world.log.push('password expired'),
    reload: () => world.log.push('reload'),
    goHome: () => world.log.push('home'),
  }
  return Object.assign(world, { session: createSession(deps) })
}

function failed(status: number, code: 'network' | 'internal' | 'login_expired'): ApiError {
  return new ApiError({ code, status, message: code, operation: 'account.get-account' })
}
