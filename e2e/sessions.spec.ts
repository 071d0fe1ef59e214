import { type BrowserContext, expect, type Page } from '@playwright/test'
import type { Gateway } from './gateway.ts'
import { test } from './walk.ts'

/** Who is signed in, over tabs, reloads and failures. */
test.describe.configure({ mode: 'serial' })

const EMAIL = 'lena@example.org'
const PASSWORD = 'Harbour-Light-7'

let gateway: Gateway
let context: BrowserContext
/** Two tabs of one browser. */
let page: Page
let other: Page

test.beforeAll(async ({ browser, gateway: shared }) => {
  gateway = shared
  context = await browser.newContext({ baseURL: gateway.origin, viewport: { width: 1_440, height: 900 } })
  page = await context.newPage()
  other = await context.newPage()
})

test.afterAll(async () => {
  await context?.close()
})

test('[R2.11] a referral code is cut to 200 characters, outlasts the page, and is sent at sign-up', async () => {
  await page.goto(`/auth?ref=${'r'.repeat(250)}`)
  await expect(page.getByRole('heading', { name: 'Log in' })).toBeVisible()
  await page.goto('/auth?mode=signup')
  await page.getByLabel('Username').fill('Mira')
  await page.getByLabel('Email').fill(EMAIL)
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.getByLabel('Password, once more').fill(PASSWORD)
  await page.getByRole('checkbox').check()
  const [sent] = await Promise.all([
    page.waitForRequest('**/api/account/signup'),
    page.getByRole('button', { name: 'Create account' }).click(),
  ])
  expect(sent.postDataJSON().referralCode).toBe('r'.repeat(200))
  await expect(page).toHaveURL(/model-endpoints/)
})

test('[R2.16] the wait after an activation mail lasts over a reload, and in every tab', async () => {
  await other.goto('/payments')
  const again = (tab: Page) => tab.getByRole('button', { name: /^Send again in \d+ s$/ })
  const seconds = async (tab: Page) => Number(/\d+/.exec(await again(tab).innerText())?.[0])
  // Signing up has sent a mail; here it is forgotten, so that one can be asked for.
  await expect(again(other)).toBeDisabled()
  await page.evaluate(() => {
    for (const key of Object.keys(localStorage)) if (key.includes('verify-wait')) localStorage.removeItem(key)
  })
  await expect(other.getByRole('button', { name: 'Activate now' })).toBeEnabled()
  await page.reload()
  await page.getByRole('button', { name: 'Activate now' }).click()
  await expect(again(page)).toBeDisabled()
  await expect(again(other)).toBeDisabled()
  await page.reload()
  await expect(again(page)).toBeDisabled()
  const left = await seconds(page)
  expect(left).toBeGreaterThan(30)
  expect(Math.abs(left - (await seconds(other)))).toBeLessThanOrEqual(1)
  await expect.poll(() => seconds(page)).toBeLessThan(left)
})

test('[R4.12] [R2.7] signing out in one tab signs the others out at once, and nothing reloads again and again', async () => {
  await page.goto('/payments?type=usage')
  await expect(page.getByRole('heading', { name: 'Payments' })).toBeVisible()
  await other.goto('/explore')
  await expect(other.getByRole('heading', { name: 'Deploy an instance' })).toBeVisible()
  // From here on no refused poll can tell this tab, only the other tab can.
  await page.route('**/api/bill/**', () => {})
  await signOut(other)
  await expect(other).toHaveURL(/\/auth\?redirect=%2Fexplore$/)
  await expect(page).toHaveURL(/\/auth\?redirect=%2Fpayments%3Ftype%3Dusage$/)
  await expect(page.getByRole('heading', { name: 'Log in' })).toBeVisible()
  await expect(page.getByText('Login expired', { exact: false })).toHaveCount(0)
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  let loads = 0
  page.on('load', () => {
    loads += 1
  })
  // As long as the other tab takes for two whole loads, of which this one had time for more.
  for (let turn = 0; turn < 2; turn += 1) {
    await other.reload()
    await expect(other.getByRole('heading', { name: 'Log in' })).toBeVisible()
  }
  expect(loads).toBe(0)
})

test('[R4.12] [R2.6] signing in in one tab takes the others along, each to where its address says', async () => {
  await logIn(other)
  await expect(other).toHaveURL(/\/explore$/)
  await expect(page).toHaveURL(/\/payments\?type=usage$/)
  await expect(page.getByRole('heading', { name: 'Payments' })).toBeVisible()
})

test('[R4.12] a tab that nobody looks at keeps what was typed, when one signs out and in again elsewhere', async () => {
  await page.goto('/explore')
  await page.getByLabel('Name').fill('not-lost')
  await setVisible(page, false)
  await signOut(other)
  await logIn(other)
  await setVisible(page, true)
  await expect(page.getByLabel('Name')).toHaveValue('not-lost')
  await setVisible(page, false)
  await signOut(other)
  await expect(page.getByLabel('Name')).toHaveValue('not-lost')
  await setVisible(page, true)
  await expect(page).toHaveURL(/\/auth\?redirect=%2Fexplore$/)
})

test('[R8.1] `please sign out first` signs out and logs in again, without a word to the customer', async () => {
  const asked: string[] = []
  await page.route('**/api/account/{login,logout}', async route => {
    asked.push(route.request().url().split('/').at(-1) ?? '')
    if (asked.length > 1) return route.continue()
    // As Casdoor says it: in words alone.
    await route.fulfill({ json: { status: 'error', msg: 'Please sign out first', data: null } })
  })
  await logIn(page)
  await expect(page).toHaveURL(/\/explore$/)
  expect(asked).toEqual(['login', 'logout', 'login'])
  await page.unrouteAll()
})

test('[R4.11] leaving a page aborts its calls; balance, bill duration and payment method go on', async () => {
  const aborted: string[] = []
  page.on('requestfailed', request => aborted.push(new URL(request.url()).pathname))
  let release = () => {}
  const held = new Promise<void>(resolve => {
    release = resolve
  })
  await page.route('**/api/bill/**', async route => {
    await held
    await route.continue().catch(() => undefined)
  })
  const balance = page.waitForRequest('**/api/bill/balance')
  const transactions = page.waitForRequest('**/api/bill/transaction*')
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Payments' }).click()
  await Promise.all([balance, transactions])
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Instances' }).click()
  await expect.poll(() => aborted).toContain('/gateway/api/bill/transaction')
  expect(aborted).not.toContain('/gateway/api/bill/balance')
  release()
  await (await (await balance).response())?.finished()
  expect(aborted).not.toContain('/gateway/api/bill/balance')
  await page.unrouteAll({ behavior: 'ignoreErrors' })
})

test('[R2.9] a page whose code is lost five times comes with the sixth try, 100 ms apart', async () => {
  await openInstances()
  const tries: number[] = []
  await page.route('**/assets/PaymentsPage-*.js', route => {
    tries.push(Date.now())
    return tries.length <= 5 ? route.abort() : route.continue()
  })
  await page.keyboard.press('g')
  await page.keyboard.press('p')
  await expect(page.getByRole('heading', { name: 'Payments' })).toBeVisible()
  expect(tries.length).toBeGreaterThanOrEqual(6)
  for (const [index, at] of tries.slice(1, 6).entries()) {
    expect(at - (tries[index] ?? 0)).toBeGreaterThanOrEqual(90)
  }
  await page.unrouteAll()
})

test('[R2.9] one whose code never comes says so and offers to try again', async () => {
  await openInstances()
  // Without an answer of the gateway the page does not come by itself either.
  await page.route(/\/assets\/PaymentsPage-.*\.js|\/gateway\/health$/, route => route.abort())
  await page.keyboard.press('g')
  await page.keyboard.press('p')
  await expect(page.getByText('The page could not be fetched', { exact: false })).toBeVisible()
  await page.unrouteAll()
  await page.getByRole('button', { name: 'Try again' }).click()
  await expect(page.getByRole('heading', { name: 'Payments' })).toBeVisible()
})

test('a page outside the shell whose texts are lost says so, and comes by itself once the gateway answers', async () => {
  await page.route(/\/locales\/en\/auth\.json|\/gateway\/health$/, route => route.abort())
  await page.goto('/mailbox')
  await expect(page.getByText('The page could not be fetched', { exact: false })).toBeVisible()
  await expect(page.getByText(/mailbox\.|auth\./)).toHaveCount(0)
  await page.unrouteAll()
  await expect(page.getByRole('heading', { name: 'Local mailbox' })).toBeVisible()
})

test('[R8.1] [R8.2] a login that ended meanwhile is said once, however many calls meet it', async () => {
  await page.goto('/instance-list')
  await expect(page.getByRole('heading', { name: 'Instances' })).toBeVisible()
  // The other tab asks for the balance too: it would meet the end first, and take this one along without a reason.
  await other.route('**/gateway/api/bill/balance', route => route.abort())
  // The gateway ends it; this browser still has its token.
  await page.evaluate(() =>
    fetch('/gateway/api/account/logout', {
      method: 'POST',
      headers: { authorization: `Bearer ${localStorage.getItem('berth.token')}` },
    }),
  )
  // None hears of its refusal before two are refused: the first one that does ends the others.
  const held: (() => Promise<void>)[] = []
  let refusals = 0
  await page.route('**/gateway/api/**', async route => {
    const response = await route.fetch()
    if (response.status() === 401) refusals += 1
    held.push(() => route.fulfill({ response }))
    if (refusals >= 2) await Promise.all(held.splice(0).map(answer => answer()))
  })
  await page.keyboard.press('g')
  await page.keyboard.press('p')
  await expect(page).toHaveURL(/\/auth\?redirect=/)
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await expect(page.getByText('Login expired, please login again')).toHaveCount(1)
  await expect(page.locator('.mantine-Notification-root')).toHaveCount(0)
  expect(refusals).toBeGreaterThanOrEqual(2)
  await expect(other).toHaveURL(/\/auth/)
  await other.unrouteAll({ behavior: 'ignoreErrors' })
})

/** As the browser says it of a tab behind another one, which a headless one never is. */
async function setVisible(tab: Page, visible: boolean): Promise<void> {
  await tab.evaluate(
    value => {
      Object.defineProperty(document, 'visibilityState', { value, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    },
    visible ? 'visible' : 'hidden',
  )
}

async function logIn(tab: Page): Promise<void> {
  await tab.getByLabel('Email').fill(EMAIL)
  await tab.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await tab.getByRole('button', { name: 'Log in' }).click()
  await expect(tab.getByRole('button', { name: /^Your account/ })).toBeVisible()
}

async function signOut(tab: Page): Promise<void> {
  await tab.getByRole('button', { name: /^Your account/ }).click()
  await tab.getByRole('menuitem', { name: 'Log out' }).click()
  await tab.getByRole('dialog', { name: 'Log out?' }).getByRole('button', { name: 'Log out' }).click()
  await expect(tab).toHaveURL(/\/auth/)
}

/** Opens the list of instances, and nothing else is fetched ahead. */
async function openInstances(): Promise<void> {
  // A link under the mouse fetches its page, also one that is there only while the page comes on a slow computer.
  await page.mouse.move(0, 0)
  await page.goto('/instance-list')
  await expect(page.getByRole('heading', { name: 'Instances' })).toBeVisible()
}
