import { expect, type Page, test } from '@playwright/test'
import type { Gateway } from './gateway.ts'
import { lookAt } from './looks.ts'
import { beginModelWalk, type ModelWalk } from './model-walk.ts'
import { call } from './walk.ts'
import { holdWidths } from './widths.ts'

/** Pictures and videos: as a guest finds their pages, and as a customer makes some by the demo, which draws real ones. */
test.describe.configure({ mode: 'serial' })

const PAM = { email: 'pam@example.org', password: 'Harbour-Light-7', name: 'Pam' }
const PAINTER = {
  ...{ id: 'test/painter', name: 'Painter', vendor: 'Test', kind: 'image', description: 'Draws.' },
  ...{ price_image: '0.012', sizes: ['1024x1024', '768x512', '512x768'], images_max: 8 },
  image_input: { count_max: 1, mb_max: 40 },
}
const FILMER = {
  ...{ id: 'test/filmer', name: 'Filmer', vendor: 'Test', kind: 'video', description: 'Films.' },
  ...{ price_video_second: '0.040', video_seconds: [2, 5, 8], sizes: ['320x180', '180x320'] },
  image_input: { count_max: 2, mb_max: 40 },
}
const PROMPT = 'A container harbour at dawn, gantry cranes in thin mist, seen from the water'

let walk: ModelWalk
let gateway: Gateway
let page: Page
let complaints: string[]
test.beforeAll(async ({ browser }) => {
  walk = await beginModelWalk(browser, PAM, () => false, [PAINTER, FILMER])
  ;({ gateway, page, complaints } = walk)
})
test.afterAll(() => walk?.end())

const prompt = () => page.getByLabel('Prompt', { exact: true })

test('[R2.3] [R2.6] a guest writes a prompt, signs in to have it made, and comes back to what they wrote', async () => {
  await page.goto('/model-endpoints')
  await page.getByRole('button', { name: 'Try Painter' }).click()
  await expect(page).toHaveURL(/\/image-model\?model=test%2Fpainter$/)
  await expect(page.getByText('Three prompts to start from')).toBeVisible()
  await prompt().fill(PROMPT)
  await page.getByRole('textbox', { name: 'Seed' }).fill('90414')
  await page.getByRole('radio', { name: '2', exact: true }).check({ force: true })
  await lookAt(page, 'image-model-guest')
  await holdWidths(page, 'the page of pictures as a guest sees it')
  await page.getByRole('button', { name: 'Log in to make it' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Log in' }).click()
  await page.getByLabel('Email').fill(PAM.email)
  await page.getByLabel('Password', { exact: true }).fill(PAM.password)
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
  await expect(page).toHaveURL(/\/image-model\?model=test%2Fpainter$/)
  await expect(prompt()).toHaveValue(PROMPT)
})

test('[B11] pictures cost what was said before, which the wallet lost, and are there to be saved', async () => {
  const before = await spentMicro()
  await expect(page.getByText('2 images at $0.012')).toBeVisible()
  await prompt().press('Control+Enter')
  const run = page.getByRole('article', { name: PROMPT })
  await expect(run.getByRole('status')).toContainText('2 made in')
  await expect(run.getByRole('status')).toContainText('$0.024 charged')
  await expect.poll(async () => (await spentMicro()) - before).toBe(24_000)
  const picture = run.locator('img').first()
  await expect.poll(() => picture.evaluate((one: HTMLImageElement) => one.naturalWidth)).toBe(1_024)
  const saving = page.waitForEvent('download')
  await run.getByRole('listitem').first().hover()
  await run.getByRole('link', { name: 'Download image 90414' }).click()
  expect((await saving).suggestedFilename()).toMatch(/\.png$/)
  const all = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download all' }).click()
  expect((await all).suggestedFilename()).toMatch(/\.zip$/)
  await run.getByRole('button', { name: 'Start the next images from this one' }).first().click()
  await expect(page.getByRole('img', { name: 'Start from: seed 90414' })).toBeVisible()
  await lookAt(page, 'image-model')
  await holdWidths(page, 'the page of pictures')
})

test('[R2.30] a video goes on when its page is left, and every page says how far it is', async () => {
  await page.goto('/video-model?model=test%2Ffilmer')
  await expect(page.getByText('Three prompts to start from')).toBeVisible()
  await page.getByRole('button', { name: /^Slow pan/ }).click()
  await page.getByRole('textbox', { name: 'Leave out' }).fill('people, text')
  await page.getByRole('radio', { name: '8', exact: true }).check({ force: true })
  await page.getByRole('textbox', { name: 'Seed' }).fill('7719')
  await expect(page.getByText('8 s at $0.04 a second')).toBeVisible()
  await lookAt(page, 'video-model-first')
  await page.getByRole('button', { name: 'Make the video' }).click()
  const card = page.getByRole('article', { name: /^Being made: Slow pan/ })
  await expect(card).toBeVisible()
  await lookAt(page, 'video-model-under-way')
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Payments' }).click()
  const chip = page.getByRole('banner').getByRole('link', { name: /^Video, \d+%/ })
  await expect(chip).toBeVisible()
  await chip.click()
  await expect(page).toHaveURL(/\/video-model/)
  const film = page.getByRole('article', { name: /^Slow pan/ })
  await expect(film).toContainText('$0.32')
  await expect(chip).toHaveCount(0)
  const seconds = () => film.locator('video').evaluate((one: HTMLVideoElement) => one.duration)
  await expect.poll(seconds).toBeGreaterThan(7)
  await lookAt(page, 'video-model')
  await holdWidths(page, 'the page of videos')
})

test('the browser complains of nothing', () => {
  expect(complaints).toEqual([])
})

/** What the customer has paid for calls of models, to the millionth. */
async function spentMicro(): Promise<number> {
  const token = await page.evaluate(() => localStorage.getItem('berth.token'))
  const headers = { authorization: `Bearer ${token}` }
  const { totals } = await call(gateway.origin, 'GET', '/api/model-verse/session-log', { headers })
  return Number(totals.cost_micro)
}
