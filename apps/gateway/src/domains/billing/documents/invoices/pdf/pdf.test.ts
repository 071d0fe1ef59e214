import { LANGUAGES, type Language } from '@berth/contract/limits'
import { getDocument } from 'pdfjs-dist/legacy/build/pdf.mjs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BillingFixture, createBillingFixture, topupRequest } from '../../../billing-fixture.ts'
import { INVOICE_WORDS } from './invoice-words.ts'
import { createPdfMaker } from './pdf-maker.ts'
import { invoicePdfRoute } from './pdf-route.ts'

let fixture: BillingFixture
let userId: string
let id: string
beforeAll(async () => {
  fixture = await createBillingFixture()
  userId = await fixture.customer()
  await fixture.billing.invoices.setAddress(userId, {
    name: '北の港株式会社 김철수 🚢',
    address: `Große Straße ${'long '.repeat(30)}\n北京市朝阳区\nŁódź Αθήνα Şişli`,
    tax_id: 'JP-7',
  })
  await fixture.billing.topUp(topupRequest(userId))
  id = (await fixture.billing.invoices.list(userId, { page: 1, page_size: 1 })).items[0]?.id ?? ''
})
afterAll(() => fixture.database.drop())

/** Asks the address as a browser does. */
async function open(address: string) {
  const ticket = address.split('/').at(-1) ?? ''
  const asked = {
    method: 'GET',
    params: { ticket },
    query: {},
    headers: {},
    body: Buffer.alloc(0),
    language: 'en',
    address: '127.0.0.1',
    signal: new AbortController().signal,
  } as const
  return await invoicePdfRoute(fixture.billing.invoices).handle(asked)
}

const link = async (language: Language) =>
  (await fixture.billing.invoices.pdfLink(userId, id, language)).download_url

/** What a reader of PDF finds in it, without blanks: they are where lines and fonts end. */
async function textOf(bytes: Uint8Array): Promise<string> {
  const task = getDocument({ data: new Uint8Array(bytes), verbosity: 0 })
  const page = await (await task.promise).getPage(1)
  const { items } = await page.getTextContent()
  await task.destroy()
  return items
    .map(item => ('str' in item ? item.str : ''))
    .join('')
    .replaceAll(/\s/g, '')
}

test.each(LANGUAGES)('[B23] [R3.10] an invoice as PDF says in %s what it says', async language => {
  const { status, headers, body } = await open(await link(language))
  expect(status).toBe(200)
  expect(headers).toMatchObject({
    'content-type': 'application/pdf',
    'content-disposition': expect.stringContaining('filename="2026-USD-000001.pdf"'),
    'cache-control': 'no-store',
  })
  const text = await textOf(body as Buffer)
  const words = INVOICE_WORDS[language]
  const said = [
    words.titles.topup,
    words.lines.topup,
    words.notes.topup,
    words.total,
    words.taxId,
    words.paidBy,
  ]
  for (const one of said) expect(text).toContain(one.replaceAll(/\s/g, ''))
  for (const one of ['2026-USD-000001', '2026-03-10', '$25.00', 'Hafenstraße1', '4242', 'JP-7']) {
    expect(text).toContain(one)
  }
  // Signs of every language, whichever the document is in; what no font has is a question mark.
  for (const one of ['北の港株式会社', '김철수', '北京市朝阳区', 'GroßeStraße', 'ŁódźΑθήναŞişli', '?'])
    expect(text).toContain(one)
})

test('[B23] the same invoice in the same language is the same bytes', async () => {
  const [first, second] = await Promise.all([open(await link('ko')), open(await link('ko'))])
  expect(Buffer.compare(first.body as Buffer, second.body as Buffer)).toBe(0)
})

test('[R6.4] an address opens for a minute, and nobody makes one up', async () => {
  const address = await link('en')
  const [head = '', box = ''] = address.split('.')
  const changed = `${head}.${box.slice(0, -4)}AAAA`
  for (const one of [changed, 'x', `${head}.`, '/gateway/invoice-pdf/a.b', `${head}.${'A'.repeat(700)}`]) {
    await expect(open(one)).rejects.toMatchObject({ code: 'download_ticket_invalid' })
  }
  fixture.clock.advance(61)
  await expect(open(address)).rejects.toMatchObject({ code: 'download_ticket_invalid' })
})

test('[R9.1] more PDFs at once than may wait are refused, and so is one that takes too long', async () => {
  const page = await fixture.billing.invoices.read(userId, id)
  const limits = { atOnceMax: 1, waitingMax: 1, makeMsMax: 60_000 }
  const few = createPdfMaker(limits)
  const [first, second, third] = await Promise.allSettled([1, 2, 3].map(() => few.make(page, 'en')))
  expect([first?.status, second?.status]).toEqual(['fulfilled', 'fulfilled'])
  expect(third).toMatchObject({ reason: { code: 'unavailable' } })
  const hasty = createPdfMaker({ ...limits, makeMsMax: 1 })
  await expect(hasty.make(page, 'en')).rejects.toMatchObject({ code: 'unavailable' })
  // Its turn is given back.
  await expect(hasty.make(page, 'en')).rejects.toMatchObject({ code: 'unavailable' })
})
