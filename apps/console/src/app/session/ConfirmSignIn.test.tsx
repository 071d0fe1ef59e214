import { confirmSignIn, sendSignInCode } from '@berth/contract/account-security'
import { addSshKey } from '@berth/contract/ssh-keys'
import { act, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { expect, test } from 'vitest'
import { renderInPage } from '../../component-fixture.tsx'
import { type Answers, answerCalls, customer, InShell, Refusal } from '../../gateway-fixture.tsx'
import { AddSshKeyDialog } from '../../pages/settings/keys/AddSshKeyDialog.tsx'
import { sampleOf } from '../../schema-fixture.ts'
import { ConfirmSignIn } from './ConfirmSignIn.tsx'

const TITLE = 'Confirm that it is you'
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl mira'

/** A form whose call wants a recent sign-in, filled in and sent; the gateway believes it once it is confirmed. */
async function sendForm(confirm: (body: unknown) => unknown, user = customer()) {
  let isConfirmed = false
  const closed: string[] = []
  const answers: Answers = {
    [addSshKey.operation]: () =>
      isConfirmed ? sampleOf(addSshKey.data) : new Refusal([], 'recent_sign_in_required', 403),
    [sendSignInCode.operation]: () => null,
    [confirmSignIn.operation]: ({ body }) => {
      const answer = confirm(body)
      isConfirmed = !(answer instanceof Refusal)
      return answer
    },
  }
  const { sent } = await answerCalls(answers, { user })
  await renderInPage(
    () => (
      <InShell>
        <AddSshKeyDialog opened onClose={() => closed.push('closed')} />
        <ConfirmSignIn mailbox />
      </InShell>
    ),
    { namespaces: ['keys'] },
  )
  fireEvent.change(screen.getByLabelText('Public key'), { target: { value: KEY } })
  fireEvent.click(screen.getByRole('button', { name: /^Add/ }))
  const dialog = await screen.findByRole('dialog', { name: TITLE })
  return { dialog: within(dialog), sent: () => sent.map(({ operation }) => operation), closed }
}

const press = (dialog: ReturnType<typeof within>, name: string) =>
  act(async () => fireEvent.click(dialog.getByRole('button', { name })))

test('a call that wants a recent sign-in asks for the password, and goes on by itself', async () => {
  const { dialog, sent, closed } = await sendForm(() => null)
  fireEvent.change(dialog.getByLabelText('Password'), { target: { value: 'Harbour-Light-7' } })
  await press(dialog, 'Confirm')
  await waitFor(() => expect(closed).toEqual(['closed']))
  expect(screen.queryByRole('dialog', { name: TITLE })).toBeNull()
  expect(sent().filter(one => one === addSshKey.operation)).toHaveLength(2)
})

test('a wrong password is said at its field, and nothing of either form is lost', async () => {
  const wrong = new Refusal([{ path: 'password', msg: 'This is not the password' }])
  const { dialog, sent } = await sendForm(() => wrong)
  fireEvent.change(dialog.getByLabelText('Password'), { target: { value: 'Wrong-Horse-7' } })
  await press(dialog, 'Confirm')
  expect(await dialog.findByText('This is not the password')).toBeDefined()
  expect(dialog.getByLabelText<HTMLInputElement>('Password').value).toBe('Wrong-Horse-7')
  expect(screen.getByLabelText<HTMLInputElement>('Public key').value).toBe(KEY)
  expect(sent().filter(one => one === addSshKey.operation)).toHaveLength(1)
})

test.each(['Cancel', 'Escape'])('%s closes the question alone, and what was typed stays', async way => {
  const { dialog, sent, closed } = await sendForm(() => null)
  if (way === 'Cancel') await press(dialog, 'Cancel')
  else await act(async () => fireEvent.keyDown(dialog.getByLabelText('Password'), { key: 'Escape' }))
  await waitFor(() => expect(screen.queryByRole('dialog', { name: TITLE })).toBeNull())
  expect(closed).toEqual([])
  expect(screen.getByLabelText<HTMLInputElement>('Public key').value).toBe(KEY)
  expect(screen.getByText('refused: recent_sign_in_required')).toBeDefined()
  expect(sent()).not.toContain(confirmSignIn.operation)
})

test('an account without a password is asked for a mailed code', async () => {
  const bodies: unknown[] = []
  const { dialog, sent, closed } = await sendForm(
    body => {
      bodies.push(body)
      return null
    },
    customer({ password: '' }),
  )
  expect(dialog.queryByLabelText('Password')).toBeNull()
  await press(dialog, 'Mail me a code')
  expect(dialog.getByText(/on its way to mira@example.org/)).toBeDefined()
  fireEvent.change(dialog.getByLabelText('Code from the mail'), { target: { value: ' 1234 5678 ' } })
  await press(dialog, 'Confirm')
  await waitFor(() => expect(closed).toEqual(['closed']))
  expect(bodies).toEqual([{ code: '1234 5678' }])
  expect(sent()).toContain(sendSignInCode.operation)
})
