import { getNotifications, NOTICE_KINDS } from '@berth/contract/notifications'
import { getOutlook, type Outlook } from '@berth/contract/outlook'
import { screen, within } from '@testing-library/react'
import { expect, test } from 'vitest'
import { renderInPage } from '../../../component-fixture.tsx'
import { answerCalls, InShell } from '../../../gateway-fixture.tsx'
import { UsesCard } from './UsesCard.tsx'
import { WhatHappens } from './WhatHappens.tsx'
import { whatHappens } from './what-happens.ts'

const HOUR_MS = 3_600_000
const NOW = new Date('2026-11-20T18:00:00.000Z')
const after = (hours: number) => new Date(NOW.getTime() + hours * HOUR_MS)
const made = (about: Partial<Outlook> = {}): Outlook => ({
  currency: 'USD',
  uses: [],
  empty_at: after(30).toISOString(),
  deletions: [
    { what: 'volumes', at: after(30 + 14 * 24).toISOString() },
    { what: 'images', at: after(30 + 14 * 24).toISOString() },
    { what: 'machines', at: after(30 + 30 * 24).toISOString() },
  ],
  ...about,
})

test('[B4] what happens by itself comes in its order, and of the mails the next one', () => {
  expect(whatHappens(made(), [72, 24, 12, 1], NOW)).toEqual([
    { kind: 'now', at: NOW },
    { kind: 'mail', hours: 24, at: after(6) },
    { kind: 'zero', at: after(30) },
    { kind: 'deletion', what: ['volumes', 'images'], at: after(30 + 14 * 24) },
    { kind: 'deletion', what: ['machines'], at: after(30 + 30 * 24) },
  ])
})

test('[B4] nothing is announced of a balance that nothing uses up', () => {
  expect(whatHappens(made({ empty_at: null, deletions: [] }), [12], NOW)).toEqual([])
})

test.each([
  [true, /^Mail, 12 h left/],
  [false, /^Zero: machines stop/],
])('[B4] who wants alerts (%s) is told of the next mail', async (balance_low, next) => {
  const mails = Object.fromEntries(NOTICE_KINDS.map(kind => [kind, true]))
  const outlook = made({ empty_at: new Date(Date.now() + 30 * HOUR_MS).toISOString(), deletions: [] })
  await answerCalls({
    [getOutlook.operation]: () => outlook,
    [getNotifications.operation]: () => ({ mails: { ...mails, balance_low }, alert_hours: [12] }),
  })
  const Page = () => (
    <InShell>
      <WhatHappens />
    </InShell>
  )
  await renderInPage(Page, { namespaces: ['payments'] })
  const moments = await screen.findAllByRole('listitem')
  expect(moments[1]?.textContent).toMatch(next)
})

test('[R2.27] what uses the balance is told by name, and adds up as it is read', async () => {
  const use = { instance_id: null, instance_name: null }
  await answerCalls({
    [getOutlook.operation]: () =>
      made({
        uses: [
          {
            usage: 'compute',
            instance_id: 'i-1',
            instance_name: 'llama',
            count: 1,
            rate_micro_per_hour: '842849',
          },
          { usage: 'volume', ...use, count: 2, rate_micro_per_hour: '52149' },
          { usage: 'image', ...use, count: 1, rate_micro_per_hour: '2549' },
        ],
      }),
  })
  const Page = () => (
    <InShell>
      <UsesCard />
    </InShell>
  )
  await renderInPage(Page, { namespaces: ['payments'] })
  const machine = await screen.findByRole('link', { name: 'llama' })
  expect(machine.getAttribute('href')).toContain('/instance?id=i-1')
  const rows = screen.getAllByRole('definition').map(({ textContent }) => textContent)
  expect(rows).toEqual(['$0.8428 /h', '$0.0522 /h', '$0.0025 /h', '$0.8975 /h'])
  expect(within(document.body).getByText('2 volumes')).toBeTruthy()
})
