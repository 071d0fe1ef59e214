import { listApiKeys } from '@berth/contract/api-keys'
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
  key_id: null,
  key_name: null,
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

const OF_KEY: Budget = {
  ...BUDGET,
  id: '01890000-0000-7000-8000-000000000003',
  key_id: '01890000-0000-7000-8000-0000000000f1',
  key_name: 'notebook',
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

test('[B16] a budget of an API key says so, and that calls are refused at its end', async () => {
  await show([OF_KEY])
  const [row] = await screen.findAllByRole('listitem')
  expect(row?.textContent).toMatch(/API key notebookby month.*refuses calls at 100 %/)
  expect(screen.getByRole('link', { name: 'API key notebook' }).getAttribute('href')).toMatch(
    /\/settings\?section=api-keys$/,
  )
})

test('[B16] a budget is set for an API key that calls may be made with', async () => {
  const key = {
    ...{ models: null, spend_limit: null, requests_per_minute: null, last_used_at: null },
    prefix: 'bk-1',
  }
  const at = { created_at: '2026-03-01T00:00:00.000Z', expires_at: null, revoked_at: null }
  const { sent } = await show([], {
    [listApiKeys.operation]: () => [
      { ...key, ...at, id: OF_KEY.key_id, name: 'notebook' },
      { ...key, ...at, id: '01890000-0000-7000-8000-0000000000f2', name: 'old', revoked_at: at.created_at },
    ],
    [addBudget.operation]: () => OF_KEY,
  })
  fireEvent.click(await screen.findByRole('button', { name: 'Add' }))
  fireEvent.click(await screen.findByRole('combobox', { name: 'For' }))
  expect(screen.queryByRole('option', { name: /^old/, hidden: true })).toBeNull()
  fireEvent.click(await screen.findByRole('option', { name: 'notebook (bk-1…)', hidden: true }))
  fireEvent.change(screen.getByLabelText(/^Amount/), { target: { value: '5' } })
  expect(screen.getByText(/^What the calls of the key cost/)).toBeTruthy()
  await act(async () =>
    fireEvent.click(within(screen.getByRole('dialog')).getByRole('button', { name: 'Add' })),
  )
  await waitFor(() =>
    expect(sent.find(({ operation }) => operation === addBudget.operation)?.body).toEqual({
      ...{ instance_id: null, key_id: OF_KEY.key_id, period: 'month', amount: 500, stops: false },
    }),
  )
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
    key_id: null,
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
