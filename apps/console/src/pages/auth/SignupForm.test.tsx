import { login, signup } from '@berth/contract/account'
import { act, fireEvent, screen, waitFor } from '@testing-library/react'
import { expect, test } from 'vitest'
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
