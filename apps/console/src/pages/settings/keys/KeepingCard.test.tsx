import { getModelKeeping, type ModelKeeping, setModelKeeping } from '@berth/contract/model-keeping'
import { fireEvent, screen, waitFor } from '@testing-library/react'
import { expect, test } from 'vitest'
import { renderInPage } from '../../../component-fixture.tsx'
import { answerCalls, InShell } from '../../../gateway-fixture.tsx'
import { KeepingCard } from './KeepingCard.tsx'

/** @returns The bodies that were sent. */
async function show(kept: ModelKeeping) {
  let now = kept
  const { sent } = await answerCalls({
    [getModelKeeping.operation]: () => now,
    [setModelKeeping.operation]: ({ body }) => {
      now = { days: (body as { days: number | null }).days, calls: 0, bytes: 0 }
      return now
    },
  })
  await renderInPage(
    () => (
      <InShell>
        <KeepingCard />
      </InShell>
    ),
    { namespaces: ['keys'] },
  )
  return () => sent.filter(({ operation }) => operation === setModelKeeping.operation).map(({ body }) => body)
}

test('[R1.5] nothing is kept until that is turned on, for as many days as are chosen', async () => {
  const sent = await show({ days: null, calls: 0, bytes: 0 })
  await screen.findByText(/^Nothing is kept/)
  const field = screen.getByLabelText('Days that a call is kept') as HTMLInputElement
  fireEvent.change(field, { target: { value: '91' } })
  fireEvent.click(screen.getByRole('button', { name: 'Keep calls' }))
  await waitFor(() => expect(field.getAttribute('aria-invalid')).toBe('true'))
  expect(field.value).toBe('91')
  expect(sent()).toEqual([])
  fireEvent.change(field, { target: { value: '7' } })
  fireEvent.click(screen.getByRole('button', { name: 'Keep calls' }))
  await waitFor(() => expect(sent()).toEqual([{ days: 7 }]))
})

test('[R1.5] turning it off says that what is kept goes, and asks first', async () => {
  const sent = await show({ days: 30, calls: 1_200, bytes: 3_400_000 })
  expect(await screen.findByText(/^1,200 calls are kept, 3\.4 MB/)).toBeTruthy()
  fireEvent.click(screen.getByRole('button', { name: 'Turn off and delete' }))
  await screen.findByText(/^Everything that is kept is deleted at once/)
  expect(sent()).toEqual([])
  const [, confirm] = screen.getAllByRole('button', { name: 'Turn off and delete', hidden: true })
  fireEvent.click(confirm as HTMLElement)
  await waitFor(() => expect(sent()).toEqual([{ days: null }]))
})
