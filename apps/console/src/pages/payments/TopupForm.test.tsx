import { fireEvent, screen } from '@testing-library/react'
import { createRef } from 'react'
import { expect, test } from 'vitest'
import { renderInPage } from '../../component-fixture.tsx'
import { answerCalls, InShell } from '../../gateway-fixture.tsx'
import { NOTHING_TYPED, TopupForm } from './TopupForm.tsx'

const PLATFORM = { platform_name: 'testcard', display_name: 'Test card', test: true }

test('[R5.8] the limits of an amount are said, and one beyond them is not offered to be paid', async () => {
  await showForm()
  const amount = screen.getByRole('textbox', { name: /^Amount in USD/ })
  expect(screen.getByText('From $1.00 to $10,000.00')).toBeTruthy()
  for (const [typed, button] of [
    ['12.5', 'Pay $12.50 now'],
    ['0.99', 'Pay now'],
    ['10000.01', 'Pay now'],
    ['10000', 'Pay $10,000.00 now'],
    ['ten', 'Pay now'],
  ] as const) {
    fireEvent.change(amount, { target: { value: typed } })
    expect(screen.getByRole('button', { name: button })).toBeTruthy()
  }
  fireEvent.change(amount, { target: { value: '0.99' } })
  fireEvent.click(screen.getByRole('button', { name: 'Pay now' }))
  expect(await screen.findByText('Invalid amount')).toBeTruthy()
  expect((amount as HTMLInputElement).value).toBe('0.99')
})

async function showForm() {
  const typed = { ...createRef(), current: { ...NOTHING_TYPED } }
  await answerCalls()
  const Page = () => (
    <InShell>
      <TopupForm
        platform={PLATFORM}
        currency="USD"
        owedCents={0}
        typed={typed}
        onSettled={() => {}}
        onInFlight={() => {}}
      />
    </InShell>
  )
  await renderInPage(Page, { namespaces: ['payments'] })
}
