import { screen } from '@testing-library/react'
import { expect, onTestFinished, test } from 'vitest'
import { renderInPage } from '../component-fixture.tsx'
import { PageHeader } from '../ui/PageHeader.tsx'
import { Providers } from './Providers.tsx'

const NOTE = /No money is real here/

test.each([
  ['test', 1],
  ['offered', 0],
  ['none', 0],
  // As a development server leaves it.
  ['__PAYMENTS__', 0],
])(
  'where payments are said to be %j, %i line above every page says that no money is real',
  async (said, lines) => {
    sayPayments(said)
    await renderInPage(() => (
      <Providers>
        <PageHeader title="Any page" />
      </Providers>
    ))
    expect(await screen.findByRole('heading', { name: 'Any page' })).toBeTruthy()
    expect(screen.queryAllByText(NOTE)).toHaveLength(lines)
  },
)

/** Writes what the gateway writes into the page, until the test ends. */
function sayPayments(content: string): void {
  const meta = document.createElement('meta')
  Object.assign(meta, { name: 'berth-payments', content })
  document.head.append(meta)
  onTestFinished(() => meta.remove())
}
