import { generateKeyPairSync } from 'node:crypto'
import { type BrowserContext, expect, type Page } from '@playwright/test'
import type { Gateway } from './gateway.ts'
import { call, openSignedIn, signUp, sshLineOf, test, topUp, verifyAddress } from './walk.ts'
import { holdWidths } from './widths.ts'

/** Every page, at every width that a screen may have, with names as long as they may be. */
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
  await own('POST', '/api/instance/', { ...machine, container_disk_gb: 40, http_ports: [8_080] })
  await expect.poll(async () => (await own('GET', '/api/instance/'))[0]?.status).toBe('running')
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
    for (const link of await sections.all()) {
      await link.click()
      await settled(where)
      await holdWidths(where, (await link.getAttribute('href')) ?? '')
    }
  }
  await guest.context().close()
})

/** What the page shows first is there. */
async function settled(where: Page): Promise<void> {
  await expect(where.getByRole('heading').first()).toBeVisible()
  await expect(where.getByRole('status').filter({ hasText: 'Loading' })).toHaveCount(0)
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
