import { screen } from '@testing-library/react'
import { expect, test } from 'vitest'
import { renderInPage } from '../../component-fixture.tsx'
import { SpendChart } from './SpendCard.tsx'

test('[B2] the days of the chart add up to the sum beside its title, as they are read', async () => {
  await showSpend(['14000', '14000', '0', '14000'])
  expect(screen.getAllByRole('listitem').map(({ title }) => title.split(': ')[1])).toEqual([
    '$0.01',
    '$0.02',
    '$0.00',
    '$0.01',
  ])
  expect(screen.getByText('$0.04')).toBeTruthy()
  expect(screen.getByText('today $0.01')).toBeTruthy()
})

test('[B2] less than a cent is spent money too', async () => {
  await showSpend(['500'])
  expect(screen.getByText('$0.0005')).toBeTruthy()
})

async function showSpend(amounts: string[]) {
  const days = amounts.map((amount_micro, day) => ({ date: `2026-11-0${day + 1}`, amount_micro, kinds: [] }))
  const Page = () => <SpendChart spend={{ currency: 'USD', days }} />
  await renderInPage(Page, { namespaces: ['payments'] })
}
