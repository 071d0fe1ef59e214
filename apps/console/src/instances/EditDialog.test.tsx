import { editInstance, type Instance } from '@berth/contract/instances'
import { act, fireEvent, screen, waitFor } from '@testing-library/react'
import { expect, test, vi } from 'vitest'
import { renderInPage } from '../component-fixture.tsx'
import { answerCalls, InShell } from '../gateway-fixture.tsx'
import { EditDialog } from './EditDialog.tsx'
import { madeInstance } from './instance-fixture.ts'

const STOP_AT = '2026-12-24T18:05:07.123Z'

/** Opens the dialog of an instance. Returns what it sends, and how to type and save. */
async function open(part: Partial<Instance>) {
  const sent = vi.fn()
  const onClose = vi.fn()
  await answerCalls({
    [editInstance.operation]: ({ body }) => {
      sent(body)
      return { instance_id: 'i-000000', status: 'running' }
    },
  })
  await renderInPage(
    () => (
      <InShell>
        <EditDialog instance={madeInstance({ name: 'llama', ...part })} opened onClose={onClose} />
      </InShell>
    ),
    { namespaces: ['instances'] },
  )
  const type = async (label: RegExp, value: string) => {
    const field = await screen.findByLabelText(label)
    await act(async () => fireEvent.change(field, { target: { value } }))
  }
  const save = async () => {
    const button = await screen.findByRole('button', { name: 'Save' })
    await act(async () => fireEvent.click(button))
  }
  return { sent, onClose, type, save }
}

test('[B5] only what was changed is sent: a moment of one’s own clock, an amount as it is typed', async () => {
  const { sent, onClose, type, save } = await open({ stop_at: STOP_AT })
  await type(/^Spend limit/, '12.5')
  await save()
  await waitFor(() => expect(onClose).toHaveBeenCalled())
  expect(sent).toHaveBeenCalledExactlyOnceWith({ instance_id: 'i-000000', spend_limit_cents: 1_250 })
})

test('[B5] a rule that is emptied is taken away, and a moment is sent with its zone', async () => {
  const { sent, onClose, type, save } = await open({ spend_limit_cents: 500 })
  await type(/^Spend limit/, '')
  await type(/^Stop at/, '2026-12-24T18:05')
  await save()
  await waitFor(() => expect(onClose).toHaveBeenCalled())
  const stop_at = new Date('2026-12-24T18:05').toISOString()
  expect(sent).toHaveBeenCalledExactlyOnceWith({ instance_id: 'i-000000', stop_at, spend_limit_cents: null })
})

test('[B5] how long it may be idle is sent in minutes, and what is none is said at its field', async () => {
  const { sent, onClose, type, save } = await open({ idle_stop_minutes: 30 })
  await type(/^Stop when idle/, 'long')
  await save()
  await screen.findByText(/must be a number/)
  expect(sent).not.toHaveBeenCalled()
  await type(/^Stop when idle/, '45')
  await save()
  await waitFor(() => expect(onClose).toHaveBeenCalled())
  expect(sent).toHaveBeenCalledExactlyOnceWith({ instance_id: 'i-000000', idle_stop_minutes: 45 })
})

test('[B5] an amount that is none is said at its field, and nothing is sent', async () => {
  const { sent, type, save } = await open({})
  await type(/^Spend limit/, 'ten')
  await save()
  expect(await screen.findByText('This must be a number')).toBeTruthy()
  expect(screen.getByLabelText<HTMLInputElement>(/^Spend limit/).value).toBe('ten')
  expect(sent).not.toHaveBeenCalled()
})
