import { getSettings, sendResetPasswordEmail } from '@berth/contract/account'
import { setPassword } from '@berth/contract/account-security'
import { fireEvent, screen } from '@testing-library/react'
import { expect, test } from 'vitest'
import { renderInPage } from '../../../component-fixture.tsx'
import { answerCalls, customer, InShell } from '../../../gateway-fixture.tsx'
import { sampleOf } from '../../../schema-fixture.ts'
import { PasswordCard } from './PasswordCard.tsx'

test('the first password is asked for by mail, and no field takes one', async () => {
  const settings = { ...(sampleOf(getSettings.data) as object), mailbox: true }
  const { sent } = await answerCalls(
    { [sendResetPasswordEmail.operation]: () => null, [getSettings.operation]: () => settings },
    { user: customer({ password: '' }) },
  )
  await renderInPage(
    () => (
      <InShell>
        <PasswordCard />
      </InShell>
    ),
    { namespaces: ['settings'] },
  )
  expect(document.querySelector('input')).toBeNull()
  fireEvent.click(screen.getByRole('button', { name: 'Mail me the link' }))
  expect((await screen.findByText(/is on its way to mira@example.org/)).getAttribute('role')).toBe('status')
  expect(screen.getByRole('link').getAttribute('href')).toBe('/mailbox')
  expect(screen.getByRole('button', { name: 'Mail it again' })).toBeDefined()
  const operations = sent.map(({ operation }) => operation)
  expect(operations).toContain(sendResetPasswordEmail.operation)
  expect(operations).not.toContain(setPassword.operation)
})
