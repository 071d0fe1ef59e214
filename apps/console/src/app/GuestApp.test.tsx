import { act, screen } from '@testing-library/react'
import { expect, test } from 'vitest'
import { renderInPage } from '../component-fixture.tsx'
import { answerCalls, customer } from '../gateway-fixture.tsx'
import { App } from './GuestApp.tsx'
import { startSession } from './session/session.ts'
import { createSession } from './session/session-store.ts'

test('[R2.8] until it is known who is signed in there is a spinner, and then the page', async () => {
  await answerCalls()
  const account = Promise.withResolvers<ReturnType<typeof customer>>()
  const nothing = () => undefined
  const session = createSession({
    readToken: () => 'token',
    writeToken: nothing,
    fetchUser: () => account.promise,
    endSession: async () => undefined,
    writeCookies: nothing,
    clearCookies: nothing,
    forget: nothing,
    onUserGone: nothing,
    onPasswordExpired: nothing,
    reload: nothing,
    goHome: nothing,
  })
  startSession(session)
  const started = session.start()
  const page = { Page: () => <h1>Activate your account</h1> }
  const entry = { path: '/activty', access: 'guest', namespaces: [], load: async () => page } as const
  await renderInPage(() => <App entry={entry} loaded={page} />)
  expect(screen.getByRole('status').textContent).toBe('Loading')
  expect(screen.queryByRole('heading')).toBeNull()
  await act(async () => {
    account.resolve(customer())
    await started
  })
  expect(screen.getByRole('heading', { name: 'Activate your account' })).toBeTruthy()
  expect(screen.queryByRole('status')).toBeNull()
})
