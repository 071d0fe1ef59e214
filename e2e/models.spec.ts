import { expect, type Page, test } from '@playwright/test'
import { type ModelServerDouble, refuses, says } from '../apps/gateway/test/model-server.ts'
import type { Gateway } from './gateway.ts'
import { lookAt } from './looks.ts'
import { beginModelWalk, type ModelWalk } from './model-walk.ts'
import { call } from './walk.ts'
import { holdWidths } from './widths.ts'

/** Hosted models: as a guest finds them, and as a customer tries one. */
test.describe.configure({ mode: 'serial' })

const MOIRA = { email: 'moira@example.org', password: 'Harbour-Light-7', name: 'Moira' }

let walk: ModelWalk
let server: ModelServerDouble
let gateway: Gateway
let page: Page
let complaints: string[]
test.beforeAll(async ({ browser }) => {
  walk = await beginModelWalk(browser, MOIRA)
  ;({ server, gateway, page, complaints } = walk)
})
test.afterAll(() => walk?.end())

const PROMPT = "It's “flat” at step 4,000: what do I check first?"

const rows = () => page.getByRole('row')

test('[R1.5] [R2.3] a guest sees every model with its price, in the same shell', async () => {
  await page.goto('/model-endpoints')
  await expect(page.getByRole('heading', { level: 1, name: 'Model endpoints' })).toBeVisible()
  await expect(page.getByText('8 of 8 models')).toBeVisible()
  const row = page.getByRole('row', { name: /Qwen3 32B/ })
  await expect(row).toContainText('$0.10 /M in')
  await expect(row).toContainText('$0.30 /M out')
  await expect(row).toContainText('40,960 context')
  await expect(page.getByRole('banner').getByRole('link', { name: 'Log in' })).toHaveAttribute(
    'href',
    '/auth?mode=login&redirect=%2Fmodel-endpoints',
  )
  await lookAt(page, 'model-endpoints-guest')
  await holdWidths(page, 'the catalogue of models as a guest sees it')
})

test('filters stand in the address and as pills; a reload shows the same rows', async () => {
  await page.getByRole('checkbox', { name: /^Qwen/ }).check()
  await expect(rows()).toHaveCount(3)
  await page.getByRole('checkbox', { name: /^Multimodal/ }).check()
  await expect(page).toHaveURL(/\?vendor=qwen&kind=multimodal$/)
  await expect(page.getByText('1 of 8 models')).toBeVisible()
  await page.reload()
  await expect(rows()).toHaveCount(2)
  await lookAt(page, 'model-endpoints-narrowed')
  await page.getByRole('button', { name: 'Remove the filter: Qwen' }).click()
  await page.getByRole('button', { name: 'Remove the filter: Multimodal' }).click()
  await expect(rows()).toHaveCount(9)
  await page.getByRole('slider').fill('0')
  await expect(page.getByRole('button', { name: 'Remove the filter: Out up to $0.30' })).toBeVisible()
  // Pictures and films have no tokens to be dear.
  await expect(rows()).toHaveCount(5)
  await page.getByRole('searchbox').fill('nothing of the kind')
  await expect(page.getByText('No model matches “nothing of the kind”')).toBeVisible()
  await lookAt(page, 'model-endpoints-no-match')
  await page.getByRole('button', { name: 'Clear the search' }).click()
  await page.getByRole('button', { name: 'Remove the filter: Out up to $0.30' }).click()
  await expect(rows()).toHaveCount(9)
})

test('on a phone a row has two lines, and the filters are a sheet', async () => {
  await page.setViewportSize({ width: 390, height: 844 })
  await expect(page.getByRole('group', { name: 'Kind' })).toBeHidden()
  await page.getByRole('button', { name: 'Filters' }).click()
  const sheet = page.getByRole('dialog', { name: 'Filters' })
  await sheet.getByRole('checkbox', { name: /^Qwen/ }).check()
  await lookAt(page, 'model-endpoints-sheet')
  await page.setViewportSize({ width: 390, height: 844 })
  await sheet.getByRole('button', { name: 'Show 2 models' }).click()
  await expect(sheet).toHaveCount(0)
  const row = page.getByRole('row', { name: /Qwen3 32B/ })
  await expect(row).toContainText('$0.30 /M out')
  expect((await row.boundingBox())?.height).toBeLessThan(70)
  await page.setViewportSize({ width: 1_440, height: 900 })
  await page.goto('/model-endpoints')
})

test('[R2.3] [R2.6] a guest tries a model, signs in to run it, and comes back to what they typed', async () => {
  await page.getByRole('button', { name: 'Try Llama 3.3 70B Instruct' }).click()
  await expect(page).toHaveURL(/\/model-endpoints\?model=meta%2Fllama-3\.3-70b-instruct$/)
  await expect(page.getByRole('heading', { level: 1, name: 'Llama 3.3 70B Instruct' })).toBeVisible()
  await expect(page).toHaveTitle('Llama 3.3 70B Instruct · Berth')
  await page.getByLabel('Prompt', { exact: true }).fill(PROMPT)
  await lookAt(page, 'model-guest')
  await holdWidths(page, 'the page of a model as a guest sees it')
  await page.getByRole('button', { name: 'Log in to run it' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Log in' }).click()
  await page.getByLabel('Email').fill(MOIRA.email)
  await page.getByLabel('Password', { exact: true }).fill(MOIRA.password)
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
  await expect(page).toHaveURL(/\/model-endpoints\?model=meta%2Fllama-3\.3-70b-instruct$/)
  await expect(page.getByLabel('Prompt', { exact: true })).toHaveValue(PROMPT)
})

test('[B11] the price is told before, and what it cost after: as much as the wallet lost', async () => {
  const words = 'one two three four five six seven eight nine ten'
  server.answer(
    says(words, { prompt_tokens: 2_000_000, completion_tokens: 10, total_tokens: 2_000_010 }),
    says(words, { prompt_tokens: 40, completion_tokens: 10, total_tokens: 50 }),
  )
  await page.getByLabel('System prompt').fill('You are brief.')
  await page.getByLabel('Max tokens').first().fill('64')
  await page.getByLabel('Temperature').first().fill('0.5')
  const before = await balanceMicro()
  const most = microOf(await page.getByText(/Next message: at most/).innerText())
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  const answer = page.getByRole('article')
  await expect(answer).toContainText(words)
  // What the server says is believed up to what was held back.
  await expect(answer).toContainText(/\d in, 10 out/)
  const cost = microOf(await answer.innerText())
  expect(cost).toBeGreaterThan(0)
  expect(cost).toBeLessThanOrEqual(most)
  await expect.poll(async () => before - (await balanceMicro())).toBe(cost)
  expect(server.asked.at(-1)?.body).toMatchObject({
    model: 'meta/llama-3.3-70b-instruct',
    messages: [
      { role: 'system', content: 'You are brief.' },
      { role: 'user', content: PROMPT },
    ],
    max_tokens: 64,
    temperature: 0.5,
  })
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await expect(answer).toContainText('40 in, 10 out')
  // 40 tokens at $0.23 and 10 at $0.40 for a million.
  await expect(answer).toContainText('$0.000013')
  await lookAt(page, 'model-answered')
  await holdWidths(page, 'the page of a model with its answer')
})

test('[B11] the code follows the form', async () => {
  const code = page.getByRole('region', { name: 'cURL' })
  await expect(code).toContainText('"max_tokens": 64')
  await expect(code).toContainText('You are brief.')
  await page.getByText('Python', { exact: true }).click()
  await page.getByLabel('Prompt', { exact: true }).fill('Something "else"')
  const python = page.getByRole('region', { name: 'Python' })
  await expect(python).toContainText('"content": "Something \\"else\\""')
  await expect(python).toContainText('temperature=0.5,')
  await expect(python).toContainText(`${gateway.origin}/v1`)
})

test('[B11] a call that fails says so where its answer would be, and costs nothing', async () => {
  server.answer(refuses(500, 'out of memory'))
  const before = await balanceMicro()
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await expect(page.getByRole('article')).toContainText('Not answered, not charged')
  await lookAt(page, 'model-failed')
  expect(await balanceMicro()).toBe(before)
  // The browser itself says of the answer that there was none.
  expect(complaints.splice(0)).toEqual([expect.stringContaining('502')])
  await expect(page.getByLabel('Prompt', { exact: true })).toHaveValue('Something "else"')
})

test('[R2.6] the way home of a customer is the catalogue', async () => {
  await page.goto('/')
  await expect(page).toHaveURL(/\/model-endpoints$/)
  await lookAt(page, 'model-endpoints-customer')
})

test('a catalogue that cannot be had says so, and is there when it is asked for again', async () => {
  const models = '**/api/model-verse/model'
  await page.route(models, route => route.fulfill({ status: 503, body: '' }))
  await page.goto('/model-endpoints')
  const again = page.getByRole('main').getByRole('button', { name: 'Try again' })
  await expect(again).toBeVisible()
  await lookAt(page, 'model-endpoints-failed')
  await page.unroute(models)
  await again.click()
  await expect(page.getByText('8 of 8 models')).toBeVisible()
  // What the browser itself says of each of the answers.
  for (const complaint of complaints.splice(0)) expect(complaint).toContain('503')
  await page.goto('/model-endpoints?model=no%2Fsuch')
  await expect(page.getByText('There is no such model')).toBeVisible()
})

test('the browser complains of nothing', () => {
  expect(complaints).toEqual([])
})

/** What the wallet of the customer has, to the millionth. */
async function balanceMicro(): Promise<number> {
  const token = await page.evaluate(() => localStorage.getItem('berth.token'))
  const headers = { authorization: `Bearer ${token}` }
  const { items } = await call(gateway.origin, 'GET', '/api/bill/transaction', { headers })
  return items.reduce((sum: number, item: { amount_micro: string }) => sum + Number(item.amount_micro), 0)
}

/** The last amount of a text, in millionths. */
function microOf(text: string): number {
  const amount = [...text.matchAll(/\$(\d+\.\d+)/g)].at(-1)?.[1] ?? ''
  return Math.round(Number(amount) * 1_000_000)
}
