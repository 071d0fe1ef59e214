import { type BrowserContext, expect, type Locator, type Page, type Request } from '@playwright/test'
import type { Gateway } from './gateway.ts'
import { lookAt } from './looks.ts'
import { test } from './walk.ts'

/** No menu has more entries. */
const PRESSES_MAX = 30

/** The frame around every page, as the demo customer of a first start meets it. */
test.describe.configure({ mode: 'serial' })

let gateway: Gateway
let context: BrowserContext
let page: Page

test.beforeAll(async ({ browser, gateway: shared }) => {
  gateway = shared
  context = await browser.newContext({ baseURL: gateway.origin, viewport: { width: 1_440, height: 900 } })
  page = await context.newPage()
})

test.afterAll(async () => {
  await context?.close()
})

test('the link that the first start prints signs the demo customer in, once', async ({ browser }) => {
  const link = await gateway.signInLink()
  await page.goto(link)
  await expect(page).toHaveURL(/model-endpoints/)
  await expect(page.getByRole('banner').getByText('$25.00')).toBeVisible()
  const second = await browser.newPage()
  await second.goto(link)
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

test('[R2.10] the title says where one is, on every page', async () => {
  for (const [path, title] of [
    ['/instance-list', 'Instances'],
    ['/explore', 'Explore'],
    ['/payments', 'Payments'],
    ['/bill-details', 'Bills'],
    ['/mailbox', 'Local mailbox'],
    ['/some-page', 'Some page (not found)'],
  ] as const) {
    await page.goto(path)
    await expect(page).toHaveTitle(`${title} · Berth`)
  }
  await page.goto('/instance-list')
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Payments' }).click()
  await expect(page).toHaveTitle('Payments · Berth')
})

test('[R2.12] the drawer is 20rem, 6.4rem when collapsed, and stays as it was left', async () => {
  // Both are rems: a larger text size of the browser makes it wider.
  expect(await page.evaluate(() => getComputedStyle(document.documentElement).fontSize)).toBe('10px')
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
  for (const name of ['Dark theme', 'Language', 'Docs', 'Billing', 'Keyboard shortcuts', 'Log out']) {
    await expect(menu.getByRole('menuitem', { name })).toBeVisible()
  }
  await lookAt(page, 'avatar-menu')
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  for (const [name, copied] of [
    ['Copy Email', /^demo@berth\.local$/],
    ['Copy Account ID', /^1\d+$/],
  ] as const) {
    await menu.getByRole('menuitem', { name }).click()
    await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toMatch(copied)
  }
  await expect(menu.getByRole('menuitem', { name: 'Docs' })).toHaveAttribute('href', '/docs')
  await menu.getByRole('menuitem', { name: 'Billing' }).click()
  await expect(page).toHaveURL(/\/payments$/)
  await page.goto('/explore')
  await page.getByRole('banner').getByRole('link', { name: 'Top up' }).click()
  await expect(page).toHaveURL(/\/payments\?topup=open/)
  await expect(page.getByRole('dialog')).toBeVisible()
  await page.goto('/payments')
})

test('[R1.9] [R2.15] the theme changes at once and outlasts a reload', async () => {
  const root = page.locator('html')
  for (const [name, scheme] of [
    ['Dark theme', 'dark'],
    ['Light theme', 'light'],
  ] as const) {
    await openAvatarMenu()
    await page.getByRole('menuitem', { name }).click()
    await expect(root).toHaveAttribute('data-mantine-color-scheme', scheme)
    await page.keyboard.press('Escape')
    await page.reload()
    await expect(root).toHaveAttribute('data-mantine-color-scheme', scheme)
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
  }
})

/** A language by the words that its page and its menu then have. */
const LANGUAGES = [
  { lang: 'zh', name: '中文', before: 'Language', title: '支付' },
  { lang: 'ja', name: '日本語', before: '语言', title: '支払い' },
  { lang: 'ko', name: '한국어', before: '言語', title: '결제' },
  { lang: 'en', name: 'English', before: '언어', title: 'Payments' },
] as const

for (const { lang, name, before, title } of LANGUAGES) {
  test(`[R1.9] [R2.15] ${name} is chosen in the menu, by mouse: the page changes at once, and stays so`, async () => {
    if (lang === 'zh') await page.goto('/payments')
    await page.evaluate(() => Object.assign(window, { notReloaded: true }))
    await openAvatarMenu()
    await page.getByRole('menuitem', { name: before }).click()
    if (lang === 'zh') await lookAt(page, 'languages')
    await page.getByRole('menuitemradio', { name }).click()
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(title)
    await expect(page.locator('html')).toHaveAttribute('lang', lang)
    await expect(page).toHaveTitle(new RegExp(`^${title}`))
    expect(await page.evaluate(() => 'notReloaded' in window)).toBe(true)
    await expect(page.getByRole('menu')).toHaveCount(0)
    await page.reload()
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(title)
    await expect(page.locator('html')).toHaveAttribute('lang', lang)
    // Korean is broken between words, the others as their languages have it.
    await expect(page.getByRole('heading', { level: 1 })).toHaveCSS(
      'word-break',
      lang === 'ko' ? 'keep-all' : 'normal',
    )
    await lookAt(page, `payments-${lang}`)
  })
}

test('[R2.15] the language is chosen by keyboard alone', async () => {
  await page.getByRole('button', { name: /^Your account/ }).focus()
  await page.keyboard.press('Enter')
  const entry = page.getByRole('menuitem', { name: 'Language' })
  await expect(entry).toBeVisible()
  await pressUntilFocused('ArrowDown', entry)
  await page.keyboard.press('ArrowRight')
  await pressUntilFocused('ArrowDown', page.getByRole('menuitemradio', { name: '日本語' }))
  await page.keyboard.press('Enter')
  await expect(page.locator('html')).toHaveAttribute('lang', 'ja')
  const button = page.getByRole('button', { name: /^アカウント/ })
  await expect(button).toBeFocused()
  await page.keyboard.press('Enter')
  const entryThere = page.getByRole('menuitem', { name: '言語' })
  await pressUntilFocused('ArrowDown', entryThere)
  await page.keyboard.press('Enter')
  await pressUntilFocused('ArrowDown', page.getByRole('menuitemradio', { name: 'English' }))
  await page.keyboard.press('Space')
  await expect(page.locator('html')).toHaveAttribute('lang', 'en')
})

test('[R2.15] the language is chosen by finger on a narrow screen', async ({ browser }) => {
  const phone = await browser.newContext({
    baseURL: gateway.origin,
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    isMobile: true,
    storageState: await context.storageState(),
  })
  const small = await phone.newPage()
  await small.goto('/payments')
  await small.getByRole('button', { name: /^Your account/ }).tap()
  await small.getByRole('menuitem', { name: 'Language' }).tap()
  const choice = small.getByRole('menuitemradio', { name: '한국어' })
  const box = await choice.boundingBox()
  expect(box && box.x >= 0 && box.x + box.width <= 390, 'the choice lies on the screen').toBe(true)
  await choice.tap()
  await expect(small.getByRole('heading', { level: 1 })).toHaveText('결제')
  await phone.close()
})

test('[R2.17] a way back to the top appears after 100px', async () => {
  await page.setViewportSize({ width: 390, height: 700 })
  await page.goto('/explore')
  await expect(page.getByRole('heading', { name: 'Deploy an instance' })).toBeVisible()
  const back = page.getByRole('button', { name: 'Back to top' })
  await page.evaluate(() => window.scrollTo(0, 100))
  await settled()
  await expect(back).toBeHidden()
  await page.evaluate(() => window.scrollTo(0, 101))
  await expect(back).toBeVisible()
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

test('without a network a line says so over every page, and what failed comes by itself when it is back', async () => {
  await page.goto('/instance-list')
  await expect(page.getByRole('heading', { name: 'Instances' })).toBeVisible()
  // What would say that something failed is there before it is needed.
  const scripts = () => page.evaluate(() => performance.getEntriesByType('resource').map(({ name }) => name))
  for (const part of ['Toasts', 'CommandPalette', 'AvatarDropdown'])
    await expect.poll(scripts).toContainEqual(expect.stringContaining(`/${part}-`))
  await context.setOffline(true)
  const line = page.getByText(/^No connection since/)
  await expect(line).toBeVisible()
  await lookAt(page, 'offline')
  // Nor does what floats need the network to open: its code came while the page was idle.
  await page.keyboard.press('ControlOrMeta+k')
  await expect(page.getByRole('dialog').getByRole('combobox')).toBeVisible()
  await page.keyboard.press('Escape')
  await openAvatarMenu()
  await page.keyboard.press('Escape')
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Payments' }).click()
  await expect(page.getByText('This could not be loaded').first()).toBeVisible()
  await context.setOffline(false)
  await expect(page.getByText('This could not be loaded')).toHaveCount(0)
  await expect(line).toHaveCount(0)
})

test('[R9.2] the balance is asked for every five seconds, and not while the tab is hidden', async () => {
  // The page's clock is ours: what takes it seconds is over at once, however slow the machine is.
  await page.clock.install()
  await page.goto('/payments')
  await expect(page.getByRole('banner').getByText('$25.00')).toBeVisible()
  let asked = 0
  let open = 0
  const isPoll = (request: Request) => request.url().endsWith('/api/bill/balance')
  page.on('request', request => {
    if (!isPoll(request)) return
    asked += 1
    open += 1
  })
  const close = (request: Request) => {
    if (isPoll(request)) open -= 1
  }
  page.on('requestfinished', close).on('requestfailed', close)
  /** Lets that much time pass. @returns How often the balance was asked for until then, all of it answered. */
  const pass = async (ms: number) => {
    await page.clock.runFor(ms)
    // The page makes and handles its calls in their order, so those that the time set off come before this one.
    await page.evaluate(() => fetch('/gateway/health'))
    await expect.poll(() => open).toBe(0)
    await page.evaluate(() => fetch('/gateway/health'))
    return asked
  }
  await page.clock.pauseAt(Date.now() + 60_000)
  await pass(0)
  const first = await pass(5_000)
  for (const turn of [1, 2]) {
    expect(await pass(4_900)).toBe(first + turn - 1)
    expect(await pass(100)).toBe(first + turn)
  }
  await page.evaluate(() => {
    Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
    window.dispatchEvent(new Event('visibilitychange'))
  })
  const before = await pass(0)
  expect(await pass(60_000)).toBe(before)
  await page.clock.resume()
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
  // A dialog that closes is seen for a moment more; by the page's clock this is longer than that moment.
  await page.clock.runFor(1_000)
  await expect(dialog).toBeVisible()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await expect(dialog).toBeHidden()
  await expect(page.getByRole('button', { name: /^Your account/ })).toBeFocused()
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

test('a guest reads the docs, in their language, and finds the list of all calls', async () => {
  await page.goto('/docs')
  await expect(page.getByRole('heading', { name: 'What is charged, and when' })).toBeVisible()
  await lookAt(page, 'docs')
  await page.getByRole('navigation', { name: 'Topics' }).getByRole('link', { name: 'Limits' }).click()
  await expect(page.getByRole('heading', { name: 'Limits' })).toBeInViewport()
  await expect(page.getByRole('link', { name: 'Every call, for programs' })).toHaveAttribute(
    'href',
    '/gateway/docs',
  )
  await page.evaluate(() => localStorage.setItem('berth.language', 'ko'))
  await page.reload()
  await expect(page.getByRole('heading', { name: '무엇이 언제 과금되는가' })).toBeVisible()
  await page.evaluate(() => localStorage.removeItem('berth.language'))
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
  // Its name is in the page's language; the address in it is not.
  await page.getByRole('button', { name: /demo@berth\.local/ }).click()
  await expect(page.getByRole('menu').first()).toBeVisible()
}

/** Walks through a menu by one key, until what is wanted has the focus. */
async function pressUntilFocused(key: string, wanted: Locator): Promise<void> {
  const isThere = () => wanted.evaluate(element => element === document.activeElement)
  for (let presses = 0; presses < PRESSES_MAX && !(await isThere()); presses++) {
    const before = await page.evaluateHandle(() => document.activeElement)
    await page.keyboard.press(key)
    // A slow computer moves the focus later; a second press before that would lead past what is wanted.
    await page.waitForFunction(element => element !== document.activeElement, before)
  }
  await expect(wanted).toBeFocused()
}

/** Two frames: what the page does by itself after a scroll is drawn by then. */
async function settled(): Promise<void> {
  await page.evaluate(
    () => new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve))),
  )
}
