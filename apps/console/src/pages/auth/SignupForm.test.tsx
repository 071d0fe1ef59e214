import { login, signup } from '@berth/contract/account'
import { getInvitation } from '@berth/contract/invitation'
import { act, fireEvent, screen, waitFor } from '@testing-library/react'
import { expect, test, vi } from 'vitest'
import { writeReferralCode } from '../../app/session/session-storage.ts'
import { renderInPage } from '../../component-fixture.tsx'
import { answerCalls, Refusal } from '../../gateway-fixture.tsx'
import { Page as AuthPage } from './AuthPage.tsx'

test('whoever signs up by an address that has an account is led to log in, and to the mail', async () => {
  window.history.replaceState(null, '', '/auth?mode=signup')
  await answerCalls(
    {
      [signup.operation]: () => 'berth/mira@example.org',
      [login.operation]: () => new Refusal([], 'login_tries_left', 200),
    },
    { user: null },
  )
  await renderInPage(AuthPage, { namespaces: ['auth'] })
  const typed = {
    Username: 'Mira',
    Email: 'mira@example.org',
    Password: 'Harbour-Light-8',
    'Password, once more': 'Harbour-Light-8',
  }
  for (const [label, value] of Object.entries(typed)) {
    fireEvent.change(screen.getByLabelText(label, { selector: 'input' }), { target: { value } })
  }
  fireEvent.click(screen.getByRole('checkbox'))
  await act(async () => fireEvent.click(screen.getByRole('button', { name: 'Create account' })))
  await waitFor(() => expect(screen.getByRole('heading', { level: 1 }).textContent).toBe('Log in'))
  expect(screen.getByText(/We have written to mira@example.org/)).toBeDefined()
  expect(screen.getByLabelText<HTMLInputElement>('Email').value).toBe('mira@example.org')
})

test.each([
  { known: true, says: 'once you have topped up $10.00 in all, you get $5.00 in credits' },
  { known: false, says: 'This invitation is not known here' },
  { known: null, says: 'once you have topped up enough, you both get credits' },
])('[R2.11] whoever comes by a link is told what it brings; known: $known', async ({ known, says }) => {
  window.history.replaceState(null, '', '/auth?mode=signup')
  writeReferralCode('mira-abcdef')
  const asked = vi.fn(() =>
    known === null ? new Refusal([], 'internal', 500) : { known, friend_reward: 500, first_topup: 1_000 },
  )
  await answerCalls({ [getInvitation.operation]: asked }, { user: null })
  await renderInPage(AuthPage, { namespaces: ['auth'] })
  expect(await screen.findByText(new RegExp(says.replaceAll('$', '\\$')))).toBeDefined()
  expect(asked).toHaveBeenCalled()
})
