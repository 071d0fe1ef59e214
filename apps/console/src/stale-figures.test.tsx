import { getBalance, getReceipt, getSpend } from '@berth/contract/billing'
import { screen, waitFor, within } from '@testing-library/react'
import { expect, test, vi } from 'vitest'
import { balanceQuery, oldSince, queryOf } from './api/queries.ts'
import { queryClient } from './api/query-client.ts'
import { BalanceChip } from './app/shell/BalanceChip.tsx'
import { renderInPage } from './component-fixture.tsx'
import { answerCalls, InShell, Refusal } from './gateway-fixture.tsx'
import { BalanceCard } from './pages/payments/BalanceCard.tsx'
import { SPEND_DAYS, SpendCard } from './pages/payments/SpendCard.tsx'
import { ReceiptDialog } from './receipts/ReceiptDialog.tsx'
import { sampleOf } from './schema-fixture.ts'

const NOON = Date.UTC(2026, 10, 20, 12)
const NOTE = /^This is of .*20 Nov.*: a newer look at it failed/
const refuse = () => new Refusal([], 'internal', 500)

test('figures that no newer ones came for say of when they are, and are of now again when these come', async () => {
  const [balance, spend] = [getBalance, getSpend].map(({ data }) => sampleOf(data))
  const answers: Record<string, () => unknown> = {
    [getBalance.operation]: () => balance,
    [getSpend.operation]: () => spend,
  }
  await answerCalls(answers)
  vi.useFakeTimers({ toFake: ['Date'], now: NOON })
  await queryClient.prefetchQuery(balanceQuery)
  await queryClient.prefetchQuery(queryOf(getSpend, { query: { days: SPEND_DAYS } }))
  vi.useRealTimers()
  Object.assign(answers, { [getBalance.operation]: refuse, [getSpend.operation]: refuse })
  await renderInPage(
    () => (
      <InShell>
        <BalanceChip />
        <BalanceCard />
        <SpendCard />
      </InShell>
    ),
    { namespaces: ['payments'] },
  )
  const chip = within(screen.getByRole('group', { name: 'Balance' }))
  expect(await chip.findByText(/^as of .*20 Nov/)).toBeTruthy()
  await waitFor(() => expect(screen.getAllByText(NOTE)).toHaveLength(2))
  Object.assign(answers, { [getBalance.operation]: () => balance, [getSpend.operation]: () => spend })
  for (const button of screen.getAllByRole('button', { name: 'Try now' })) button.click()
  await waitFor(() => expect(screen.queryByText(NOTE)).toBeNull())
  expect(chip.queryByText(/^as of/)).toBeNull()
})

test('a dialog whose answer stays while a newer look fails says of when it is', async () => {
  const receipt = getReceipt.data.parse(sampleOf(getReceipt.data))
  const answers: Record<string, () => unknown> = { [getReceipt.operation]: refuse }
  await answerCalls(answers)
  const id = 'txn-0a1b2c'
  receipt.transaction.id = id
  await renderInPage(
    () => (
      <InShell>
        <ReceiptDialog id={id} onClose={() => {}} />
      </InShell>
    ),
    { namespaces: ['payments', 'events'] },
  )
  const again = await screen.findByRole('button', { name: 'Try again' })
  Object.assign(answers, { [getReceipt.operation]: () => receipt })
  again.click()
  const dialog = within(await screen.findByRole('dialog'))
  expect(await dialog.findByText(id)).toBeTruthy()
  Object.assign(answers, { [getReceipt.operation]: refuse })
  await queryClient.refetchQueries({ queryKey: [getReceipt.operation] })
  expect(await dialog.findByText(/^This is of .*: a newer look at it failed/)).toBeTruthy()
  expect(dialog.getByText(id)).toBeTruthy()
})

test('one poll of the balance that failed says nothing yet', () => {
  const error = new Error('lost')
  expect(oldSince({ error, errorUpdatedAt: 5_900, dataUpdatedAt: 1_000 })).toBeNull()
  expect(oldSince({ error, errorUpdatedAt: 11_000, dataUpdatedAt: 1_000 })).toBe(1_000)
  expect(oldSince({ error: null, errorUpdatedAt: 11_000, dataUpdatedAt: 1_000 })).toBeNull()
  expect(oldSince({ error, errorUpdatedAt: 11_000, dataUpdatedAt: 0 })).toBeNull()
})
