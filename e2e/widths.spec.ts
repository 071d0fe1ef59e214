import { generateKeyPairSync } from 'node:crypto'
import { type BrowserContext, expect, type Locator, type Page } from '@playwright/test'
import type { Gateway } from './gateway.ts'
import { call, openSignedIn, signUp, sshLineOf, test, topUp, verifyAddress } from './walk.ts'
import { holdWidths } from './widths.ts'

/** Every page and dialog, at every width that a screen may have, with names as long as they may be. */
test.describe.configure({ mode: 'serial' })

const WIDA = { email: 'wida@example.org', password: 'Harbour-Light-7', name: 'Wida' }
const LONG = 'a-name-of-sixty-three-characters-as-long-as-a-name-may-ever-be'.padEnd(63, 'x')
const WORDS = 'A name of sixty-four characters, as long as the name of a key is'

let gateway: Gateway
let context: BrowserContext
let page: Page

test.beforeAll(async ({ browser, gateway: shared }) => {
  gateway = shared
  await signUp(gateway, WIDA)
  await verifyAddress(gateway, WIDA.email)
  await topUp(gateway, WIDA)
  context = await openSignedIn(browser, gateway, WIDA)
  page = await context.newPage()
  await page.goto('/settings?section=api-keys')
  const { publicKey } = generateKeyPairSync('ed25519')
  await own('POST', '/api/ssh-key/', { name: WORDS, public_key: sshLineOf(publicKey) })
  await own('POST', '/api/model-verse/api-key/', { name: WORDS })
  const registry = {
    registry: 'a-registry-with-a-long-name.example.org',
    name: WORDS,
    username: LONG,
    password: LONG,
  }
  await own('POST', '/api/registry/', registry)
  const machine = {
    name: LONG,
    region_code: 'us-west',
    gpu_spec_id: 'cpu',
    gpu_count: 1,
    image_id: 'berth-base',
  }
  await own('POST', '/api/instance/', {
    ...machine,
    container_disk_gb: 40,
    http_ports: [8_080],
    start_command: 'exit 3',
  })
  await own('POST', '/api/bill/payment-method', { platform_name: 'testcard', source: '5555 5555 5555 4444' })
  await own('POST', '/api/netvolume/', { name: LONG, region_code: 'us-west', size_gb: 10 })
  const [{ instance_id }] = await own('GET', '/api/instance/')
  await own('POST', '/api/bill/budget', { instance_id, period: 'month', amount: 100_000_00, stops: true })
  // Its second line says so, in as many words as there are.
  await page.goto('/instance-list')
  await expect(page.getByText(/^Command ended/)).toBeVisible()
  // Somebody else's device, which can be signed out from here.
  await (await openSignedIn(browser, gateway, WIDA, { userAgent: 'Mozilla/5.0 Firefox/144.0' })).close()
})

test.afterAll(async () => {
  for (const { instance_id: id } of await own('GET', '/api/instance/'))
    await own('DELETE', `/api/instance/${id}`)
  await context?.close()
})

test('every page fits every width', async ({ browser }) => {
  const guest = await (await browser.newContext({ baseURL: gateway.origin })).newPage()
  for (const { path, access } of await pagesOfConsole()) {
    const where = access === 'guest' ? guest : page
    await where.goto(path)
    await settled(where)
    await holdWidths(where, path)
    const sections = where.getByRole('main').locator('[href^="/settings?section="]')
    // Other pages lead there too.
    for (const link of path === '/settings' ? await sections.all() : []) {
      await link.click()
      await settled(where)
      await holdWidths(where, (await link.getAttribute('href')) ?? '')
    }
  }
  await guest.context().close()
})

test('on a phone a row is its likeliest action, wherever it is touched but for its name', async () => {
  await page.goto('/instance-list')
  const why = page.getByText(/^Command ended, code 3, /)
  for (const width of [320, 390]) {
    await page.setViewportSize({ width, height: 844 })
    expect(await isCut(why), `what became of it, at ${width} px`).toBe(false)
  }
  // Its name leads to its page; anywhere else it is the button.
  await expect(page.getByRole('link', { name: LONG })).toHaveAttribute('href', /^\/instance\?id=/)
  const { x = 0, y = 0 } = (await why.boundingBox()) ?? {}
  await page.mouse.click(x + 5, y + 5)
  await expect(page.getByRole('dialog', { name: `Connect to ${LONG}` })).toBeVisible()
  await page.setViewportSize({ width: 1_440, height: 900 })
})

test('columns have their widths where no header is drawn over them', async () => {
  await page.goto('/payments')
  const cells = page.getByRole('row').nth(1).getByRole('cell')
  const [date, what] = [await cells.nth(0).boundingBox(), await cells.nth(1).boundingBox()]
  expect(date?.width).toBeLessThan(150)
  expect(what?.width).toBeGreaterThan(2 * (date?.width ?? 0))
})

test('a deploy is read without scrolling; on a phone its price and its button stay in view', async () => {
  await page.goto('/explore')
  await settled(page)
  const deploy = page.getByRole('button', { name: 'Deploy', exact: true })
  await expect(deploy).toBeInViewport()
  // The last fold of the form.
  await expect(page.getByText('Stop by itself')).toBeInViewport()
  await page.setViewportSize({ width: 390, height: 844 })
  await expect(deploy).toBeInViewport()
  await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight))
  await expect(deploy).toBeInViewport()
  await expect(page.getByText('lasts', { exact: false }).last()).toBeInViewport()
  await page.setViewportSize({ width: 1_440, height: 900 })
})

test('a line of a bill fits every width where it is opened, too', async () => {
  await page.goto('/bill-details')
  await page
    .getByRole('button', { name: `Open ${LONG}` })
    .first()
    .click()
  await expect(
    page.getByRole('region', { name: `What ${LONG} is made of` }).getByRole('row'),
  ).not.toHaveCount(0)
  await holdWidths(page, 'a line of a bill')
})

/** What opens each dialog and menu: the path of its page, and what is pressed there. */
const DIALOGS: readonly [string, (page: Page) => Promise<void>][] = [
  ['/instance-list', press(/^Connect/)],
  ...['Stop', 'Restart', 'Edit', 'Events', 'Log', 'Terminate'].map(
    (name): [string, (page: Page) => Promise<void>] => ['/instance-list', chooseOfRow(name)],
  ),
  ['/instance-list', press(/^All actions of/)],
  ['/instance-list', where => where.keyboard.press('Control+k')],
  ['/instance-list', where => where.keyboard.press('?')],
  ['/instance-list', press(/^Your account/)],
  [
    '/instance-list',
    async where => {
      await press(/^Your account/)(where)
      await where.getByRole('menuitem', { name: 'Log out' }).click()
    },
  ],
  ['/payments', press('Top up')],
  ['/payments', press(/^Receipt of/)],
  ['/payments', pressIn('Payment methods', 'Add')],
  ['/payments', pressIn('Payment methods', /^Remove /)],
  ['/payments', pressIn('Auto top-up', 'Set up')],
  ['/payments', pressIn('Budgets', 'Add')],
  ['/payments', pressIn('Budgets', /^Edit the budget/)],
  ['/payments', pressIn('Budgets', /^Remove the budget/)],
  [
    '/network-volume',
    async where => {
      await press('S3 access')(where)
      // Its lines are the longest.
      await where.getByRole('dialog').getByText('JavaScript').click()
    },
  ],
  ['/my-images', press('From a Dockerfile')],
  ['/settings?section=ssh-keys', press('Add SSH key')],
  ['/settings?section=ssh-keys', press(/^Remove /)],
  ['/settings?section=registries', press('Add credential')],
  ['/settings?section=registries', press(/^Remove /)],
  ['/settings?section=api-keys', press('Make an API key')],
  ['/settings?section=api-keys', press(/^Revoke /)],
  ['/settings?section=sessions', press('End all others')],
]

// A test for each page, so that a computer that does much else has the time of one for a page and not for all.
for (const path of new Set(DIALOGS.map(([path]) => path))) {
  test(`every dialog and menu of ${path} fits every width`, async () => {
    await page.goto(path)
    for (const [index, [where, open]] of DIALOGS.entries()) {
      if (where !== path) continue
      await settled(page)
      await open(page)
      const opened = page.getByRole('dialog').or(page.getByRole('menu')).first()
      await expect(opened).toBeVisible()
      await holdWidths(page, `dialog ${index} of ${path}`)
      await page.keyboard.press('Escape')
      await expect(opened).toHaveCount(0)
    }
  })
}

/** What the page shows first is there. */
async function settled(where: Page): Promise<void> {
  await expect(where.getByRole('heading').first()).toBeVisible()
  await expect(where.getByRole('status').filter({ hasText: 'Loading' })).toHaveCount(0)
}

function press(name: string | RegExp) {
  return (where: Page) =>
    where.getByRole('main').or(where.getByRole('banner')).getByRole('button', { name }).first().click()
}

/** The same in a part of the page, by its title. */
function pressIn(title: string, name: string | RegExp) {
  return (where: Page) =>
    where
      .locator('section')
      .filter({ has: where.getByRole('heading', { name: title, exact: true }) })
      .getByRole('button', { name })
      .first()
      .click()
}

function chooseOfRow(name: string) {
  return async (where: Page) => {
    await where
      .getByRole('row')
      .getByRole('button', { name: /^All actions of/ })
      .click()
    await where.getByRole('menuitem', { name: new RegExp(`^${name}`) }).click()
    // The menu fades, and lies over the dialog until it has.
    await expect(where.getByRole('menu')).toHaveCount(0)
  }
}

/** Whether some of a text is beyond an edge of what holds it. */
async function isCut(text: Locator): Promise<boolean> {
  return await text.evaluate(element => {
    const range = document.createRange()
    range.selectNodeContents(element)
    const { left, right, bottom } = range.getBoundingClientRect()
    for (let box: Element | null = element; box !== null; box = box.parentElement) {
      if (getComputedStyle(box).overflowX === 'visible') continue
      const around = box.getBoundingClientRect()
      if (left < around.left - 1 || right > around.right + 1 || bottom > around.bottom + 1) return true
    }
    return false
  })
}

/** The console's own table of pages; their code, which it names, is not loaded here. */
async function pagesOfConsole(): Promise<readonly { path: string; access: string }[]> {
  const file = new URL('../apps/console/src/app/pages.ts', import.meta.url)
  return (await import(file.href)).PAGES
}

/** A call of the customer who is signed in on the page. */
async function own(method: string, path: string, data?: object) {
  const token = await page.evaluate(() => localStorage.getItem('berth.token'))
  const headers = { authorization: `Bearer ${token}`, 'idempotency-key': crypto.randomUUID() }
  return await call(gateway.origin, method, path, { headers, ...(data === undefined ? {} : { data }) })
}
