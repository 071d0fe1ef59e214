import { type BrowserContext, expect, type Page, test } from '@playwright/test'
import { type Gateway, startGateway } from './gateway.ts'
import { lookAt } from './looks.ts'

/** The frame around every page, as the demo customer of a first start meets it. */
test.describe.configure({ mode: 'serial' })

let gateway: Gateway
let context: BrowserContext
let page: Page

test.beforeAll(async ({ browser }) => {
  gateway = await startGateway()
  context = await browser.newContext({ baseURL: gateway.origin, viewport: { width: 1_440, height: 900 } })
  page = await context.newPage()
})

test.afterAll(async () => {
  await context?.close()
  await gateway?.stop()
})

test('the link that the first start prints signs the demo customer in, once', async ({ browser }) => {
  const link = /http\S+\/auth\?ticket=\S+/.exec(gateway.output())?.[0]
  expect(link).toBeDefined()
  await page.goto(link ?? '')
  await expect(page).toHaveURL(/instance-list/)
  await expect(page.getByRole('banner').getByText('$25.00')).toBeVisible()
  const second = await browser.newPage()
  await second.goto(link ?? '')
  await expect(second.getByText('This sign-in link has expired or was used before.')).toBeVisible()
  await second.close()
})

test('[R3.1] the session is a token in local storage and three cookies of a year', async () => {
  expect(await page.evaluate(() => localStorage.getItem('berth.token'))).toMatch(/^ey/)
  const cookies = await context.cookies()
  const years = cookies.map(cookie => Math.round((cookie.expires - Date.now() / 1_000) / 86_400))
  expect(cookies.length).toBeGreaterThanOrEqual(3)
  expect(cookies.map(({ value }) => decodeURIComponent(value))).toContain('demo@berth.local')
  expect(years.every(days => days === 365)).toBe(true)
})

test('[R2.10] the title says where one is', async () => {
  await page.goto('/instance-list')
  await expect(page).toHaveTitle(/^Instances/)
  await page.goto('/payments')
  await expect(page).toHaveTitle(/^Payments/)
})

test('[R2.12] the drawer is 20rem, 6.4rem when collapsed, and stays as it was left', async () => {
  const drawer = page.getByRole('navigation', { name: 'Pages' })
  const width = async () => (await drawer.boundingBox())?.width
  await expect.poll(width).toBe(200)
  await page.getByRole('button', { name: 'Collapse the menu' }).click()
  await expect.poll(width).toBe(64)
  await page.reload()
  await expect.poll(width).toBe(64)
  await page.getByRole('button', { name: 'Expand the menu' }).click()
  await expect.poll(width).toBe(200)
})

test('[R2.13] the header holds the balance, the way to top up, and the customer’s own menu', async () => {
  await expect(page.getByRole('banner').getByText('$25.00')).toBeVisible()
  await openAvatarMenu()
  const menu = page.getByRole('menu').first()
  await expect(menu.getByText('demo@berth.local')).toBeVisible()
  await expect(menu.getByText(/^Account 1\d+/)).toBeVisible()
  for (const name of ['Dark theme', 'Docs', 'Billing', 'Log out']) {
    await expect(menu.getByRole('menuitem', { name })).toBeVisible()
  }
  await page.keyboard.press('Escape')
})

test('[R1.9] [R2.15] theme and language change at once and outlast a reload', async () => {
  await openAvatarMenu()
  await page.getByRole('menuitem', { name: 'Dark theme' }).click()
  const root = page.locator('html')
  await expect(root).toHaveAttribute('data-mantine-color-scheme', 'dark')
  await page.keyboard.press('Escape')
  await page.reload()
  await expect(root).toHaveAttribute('data-mantine-color-scheme', 'dark')
  for (const language of ['zh', 'ja', 'ko'] as const) {
    await page.evaluate(chosen => localStorage.setItem('berth.language', chosen), language)
    await page.reload()
    await expect(root).toHaveAttribute('lang', language)
    await expect(page.getByRole('heading', { level: 1 })).not.toHaveText('Payments')
    await lookAt(page, `payments-${language}`)
  }
  await page.evaluate(() => {
    localStorage.removeItem('berth.language')
    localStorage.removeItem('berth.theme')
  })
  await page.reload()
})

test('[R2.17] a way back to the top appears after 100px', async () => {
  await page.setViewportSize({ width: 390, height: 700 })
  await page.goto('/explore')
  await expect(page.getByRole('heading', { name: 'Deploy an instance' })).toBeVisible()
  const back = page.getByRole('button', { name: 'Back to top' })
  await page.evaluate(() => window.scrollTo(0, 90))
  await expect(back).toBeHidden()
  await page.evaluate(() => window.scrollTo(0, 400))
  await back.click()
  await expect.poll(() => page.evaluate(() => window.scrollY)).toBe(0)
  await expect(back).toBeHidden()
})

test('a narrow screen reaches every page through its drawer', async () => {
  await page.getByRole('button', { name: 'Open the menu' }).click()
  await lookAt(page, 'mobile-menu')
  await page.setViewportSize({ width: 390, height: 700 })
  await page.getByRole('dialog').getByRole('link', { name: 'Payments' }).click()
  await expect(page).toHaveURL(/payments/)
  await page.setViewportSize({ width: 1_440, height: 900 })
})

test('the command palette opens by Ctrl+K and goes where it is told', async () => {
  await page.keyboard.press('Control+k')
  await page.getByPlaceholder('Search pages and commands').fill('expl')
  await lookAt(page, 'palette')
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(/explore/)
})

test('[R9.2] the balance is asked for every five seconds, and not while the tab is hidden', async () => {
  await page.goto('/payments')
  const asked: number[] = []
  page.on('request', request => {
    if (request.url().endsWith('/api/bill/balance')) asked.push(Date.now())
  })
  await expect.poll(() => asked.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(3)
  const gaps = asked.slice(1).map((at, index) => at - (asked[index] ?? at))
  for (const gap of gaps) expect(gap).toBeGreaterThan(4_000)
  await page.evaluate(() => {
    Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
    window.dispatchEvent(new Event('visibilitychange'))
  })
  // One that was under way may still come; after that there is silence for longer than a poll.
  await page.waitForTimeout(1_000)
  const before = asked.length
  await page.waitForTimeout(7_000)
  expect(asked.length).toBe(before)
  await page.reload()
})

test('[R2.19] when the console cannot start it says so and offers to reload', async () => {
  await page.route('**/api/account/get-account', route => route.abort())
  await page.reload()
  await expect(page.getByText('The console could not start', { exact: false }).first()).toBeVisible()
  await lookAt(page, 'init-failure')
  await page.unroute('**/api/account/get-account')
  await page.getByRole('button', { name: 'Reload' }).click()
  await expect(page.getByRole('heading', { name: 'Payments' })).toBeVisible()
})

test('[R2.14] [R2.20] [R2.7] logging out asks; clicks beside the dialog change nothing; the way back is kept', async () => {
  await page.goto('/payments?type=usage')
  await openAvatarMenu()
  await page.getByRole('menuitem', { name: 'Log out' }).click()
  const dialog = page.getByRole('dialog', { name: 'Log out?' })
  await expect(dialog).toBeVisible()
  await lookAt(page, 'logout')
  await page.mouse.click(30, 600)
  await expect(dialog).toBeVisible()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await expect(dialog).toBeHidden()
  await openAvatarMenu()
  await page.getByRole('menuitem', { name: 'Log out' }).click()
  await dialog.getByRole('button', { name: 'Close' }).click()
  await expect(dialog).toBeHidden()
  await openAvatarMenu()
  await page.getByRole('menuitem', { name: 'Log out' }).click()
  await dialog.getByRole('button', { name: 'Log out' }).click()
  await expect(page).toHaveURL(/\/auth\?redirect=%2Fpayments%3Ftype%3Dusage/)
  expect(await page.evaluate(() => localStorage.getItem('berth.token'))).toBeNull()
})

test('[R8.1] [R8.2] a session that ended elsewhere signs out, and the form says why, once', async () => {
  await page.evaluate(() => localStorage.setItem('berth.token', 'no.longer.good'))
  await page.goto('/payments')
  await expect(page).toHaveURL(/\/auth\?redirect=%2Fpayments/)
  await expect(page.getByText('User is not found, please login again')).toHaveCount(1)
  expect(await page.evaluate(() => localStorage.getItem('berth.token'))).toBeNull()
  await page.reload()
  await expect(page.getByRole('heading', { name: 'Log in' })).toBeVisible()
  await expect(page.getByText('User is not found, please login again')).toHaveCount(0)
})

async function openAvatarMenu(): Promise<void> {
  await page.getByRole('button', { name: /^Your account/ }).click()
  await expect(page.getByRole('menu').first()).toBeVisible()
}
