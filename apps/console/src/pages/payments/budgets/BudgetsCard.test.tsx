import { addBudget, type Budget, listBudgets, removeBudget } from '@berth/contract/budgets'
import { act, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { expect, test } from 'vitest'
import { renderInPage } from '../../../component-fixture.tsx'
import { answerCalls, customer, InShell, Refusal } from '../../../gateway-fixture.tsx'
import { BudgetsCard } from './BudgetsCard.tsx'
import { percentSpent, stateOf } from './budget-state.ts'

const BUDGET: Budget = {
  id: '01890000-0000-7000-8000-000000000001',
  instance_id: null,
  instance_name: null,
  period: 'month',
  amount: 10_000,
  currency: 'USD',
  stops: true,
  spent_micro: '64000000',
  since: '2026-11-01T00:00:00.000Z',
  until: '2026-12-01T00:00:00.000Z',
  created_at: '2026-11-01T00:00:00.000Z',
}
const OF_ONE: Budget = {
  ...BUDGET,
  id: '01890000-0000-7000-8000-000000000002',
  instance_id: 'i-7q2m9x',
  instance_name: 'llama-finetune',
  period: 'day',
  amount: 800,
  stops: false,
  spent_micro: '8000000',
}

async function show(budgets: Budget[], answers: Parameters<typeof answerCalls>[0] = {}, verified = true) {
  const answered = await answerCalls(
    { [listBudgets.operation]: () => budgets, ...answers },
    { user: customer({ emailVerified: verified }) },
  )
  const Page = () => (
    <InShell>
      <BudgetsCard />
    </InShell>
  )
  await renderInPage(Page, { namespaces: ['budgets'] })
  return answered
}

test('[B16] a budget says what it is for, what is spent of it, and what happens at its end', async () => {
  await show([BUDGET, OF_ONE])
  const [account, one] = (await screen.findAllByRole('listitem')).map(row => row.textContent)
  expect(account).toMatch(/Accountby month\$64\.00 of \$100\.00, 64 %stops at 100 %, anew /)
  expect(one).toMatch(/llama-finetuneby day\$8\.00 of \$8\.00, 100 %used up, only warns, anew /)
})

test('[B16] a budget is at 100 % only once all of it is spent', () => {
  const spent = (spent_micro: string) => ({ amount: 100, spent_micro })
  expect(percentSpent(spent('999999'))).toBe(99)
  expect(stateOf(spent('999999'))).toBe('near')
  expect(stateOf(spent('1000000'))).toBe('used_up')
  expect(stateOf(spent('799999'))).toBe('fine')
})

test('[B16] a refused budget keeps what was typed, and says why', async () => {
  const { sent } = await show([], {
    [addBudget.operation]: () => new Refusal([]),
  })
  fireEvent.click(await screen.findByRole('button', { name: 'Add' }))
  const amount = await screen.findByLabelText<HTMLInputElement>(/^Amount/)
  fireEvent.change(amount, { target: { value: '12.50' } })
  fireEvent.click(screen.getByRole('checkbox', { name: /^Stop at 100 %/ }))
  const dialog = await screen.findByRole('dialog')
  await act(async () => fireEvent.click(within(dialog).getByRole('button', { name: 'Add' })))
  await waitFor(() => expect(within(dialog).getByRole('alert')).toBeTruthy())
  expect(sent.find(({ operation }) => operation === addBudget.operation)?.body).toEqual({
    instance_id: null,
    period: 'month',
    amount: 1_250,
    stops: true,
  })
  expect(amount.value).toBe('12.50')
})

test('[B16] a budget is removed once that is confirmed', async () => {
  const { sent } = await show([BUDGET], { [removeBudget.operation]: () => null })
  fireEvent.click(await screen.findByRole('button', { name: 'Remove the budget: Account, by month' }))
  const confirm = await screen.findByRole('button', { name: 'Remove' })
  expect(sent.map(({ operation }) => operation)).not.toContain(removeBudget.operation)
  await act(async () => fireEvent.click(confirm))
  await waitFor(() => expect(sent.map(({ operation }) => operation)).toContain(removeBudget.operation))
})

test('[R4.2] without a verified address a budget is neither set nor changed', async () => {
  await show([BUDGET], {}, false)
  for (const name of ['Add', 'Edit the budget: Account, by month']) {
    expect((await screen.findByRole('button', { name })).getAttribute('aria-disabled')).toBe('true')
  }
})
