import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BrowserContext, expect, type Page } from '@playwright/test'
import { type Gateway, startGateway } from './gateway.ts'
import { lookAt } from './looks.ts'
import { isOfComputer, test } from './walk.ts'

/** One gateway, three hosts: a brand's production, its staging, and everything else. Browsers find each on loopback. */
test.describe.configure({ mode: 'serial' })

const CATALOGUE = fileURLToPath(new URL('../config/catalogue.yaml', import.meta.url))
const LOGO =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path fill="#6b3fa0" d="M12 2 22 22H2z"/></svg>'

/** What the analytics server was asked for: scripts that were loaded, and pages that they reported. */
const scripts: string[] = []
const reports: string[] = []
let analytics: Server
let folder: string
let gateway: Gateway
let context: BrowserContext
let page: Page

test.beforeAll(async ({ browser }) => {
  analytics = await startAnalytics()
  const { port } = analytics.address() as AddressInfo
  folder = await mkdtemp(join(tmpdir(), 'berth-e2e-brands-'))
  await writeFile(join(folder, 'north.svg'), LOGO)
  await writeFile(join(folder, 'catalogue.yaml'), withBrands(await readFile(CATALOGUE, 'utf8'), port))
  gateway = await startGateway({ BERTH_CATALOGUE: join(folder, 'catalogue.yaml') })
  context = await browser.newContext({ viewport: { width: 1_440, height: 900 } })
  page = await context.newPage()
})

test.afterAll(async () => {
  await context?.close()
  await gateway?.stop()
  analytics?.close()
  await rm(folder, { recursive: true, force: true })
})

test('[R1.10] the production host shows its brand, and loads its analytics', async () => {
  const complaints = listen(page)
  await page.goto(at('north.localhost', '/auth'))
  await expect(page).toHaveTitle('Log in · North')
  await expect(page.getByRole('main').getByText('North', { exact: true })).toBeVisible()
  await expect(page.getByText('Berth', { exact: true })).toHaveCount(0)
  await expect(page.getByRole('link', { name: 'Docs' })).toHaveAttribute(
    'href',
    'https://docs.north.example/',
  )
  await expect.poll(() => scripts).toEqual(['north.localhost'])
  await expect.poll(() => reports).toEqual(['north-site /auth'])
  await lookAt(page, 'brand-auth')
  expect(complaints).toEqual([])
})

test('[R1.10] its name, mark and accent stand in the shell, and the theme can be changed', async () => {
  const link = new URL(await gateway.signInLink())
  await page.goto(at('north.localhost', link.pathname + link.search))
  await expect(page).toHaveURL(/\/model-endpoints$/)
  await page.goto(at('north.localhost', '/instance-list'))
  await expect(page.getByRole('heading', { name: 'Instances' })).toBeVisible()
  await expect(page).toHaveTitle('Instances · North')
  const mark = page.getByRole('navigation', { name: 'Pages' }).locator('img:visible')
  await expect.poll(() => mark.evaluate(image => (image as HTMLImageElement).naturalWidth)).toBeGreaterThan(0)
  const topUp = page.getByRole('banner').getByRole('link', { name: 'Top up' })
  await expect(topUp).toHaveCSS('background-color', 'rgb(107, 63, 160)')
  await page.evaluate(() => document.documentElement.setAttribute('data-mantine-color-scheme', 'dark'))
  await expect(topUp).toHaveCSS('background-color', 'rgb(195, 155, 255)')
  await lookAt(page, 'brand-shell')
})

test('[R1.10] a page whose address holds a secret loads none', async () => {
  const before = scripts.length
  const settings = page.waitForResponse('**/api/settings')
  await page.goto(at('north.localhost', '/reset-password?token=of-a-mail'))
  await settings
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
  await expect(page.getByRole('link', { name: 'Docs' })).toBeVisible()
  expect(scripts).toHaveLength(before)
})

for (const host of ['staging.localhost', '127.0.0.1']) {
  test(`[R1.10] ${host} loads none, and its policy lets none in`, async () => {
    const before = scripts.length
    // A tab of its own: what the page before it still had to load would come in between.
    const tab = await context.newPage()
    const settings = tab.waitForResponse('**/api/settings')
    await tab.goto(at(host, '/auth'))
    const { data } = await (await settings).json()
    expect(data.brand.analytics).toBeNull()
    await expect(tab).toHaveTitle(host === '127.0.0.1' ? 'Log in · Berth' : 'Log in · North')
    const { port } = analytics.address() as AddressInfo
    const violation = await tab.evaluate(
      src =>
        new Promise<string>(resolve => {
          document.addEventListener('securitypolicyviolation', event => resolve(event.effectiveDirective))
          const script = document.createElement('script')
          script.src = src
          document.head.append(script)
        }),
      `http://stats.localhost:${port}/script.js`,
    )
    expect(violation).toBe('script-src-elem')
    expect(scripts).toHaveLength(before)
    await tab.close()
  })
}

function at(host: string, path: string): string {
  const url = new URL(gateway.origin)
  url.hostname = host
  return url.origin + path
}

/** What the browser complains about. */
function listen(tab: Page): string[] {
  const complaints: string[] = []
  tab.on('console', message => {
    if (message.type() === 'error' && !isOfComputer(message.text())) complaints.push(message.text())
  })
  tab.on('pageerror', error => complaints.push(String(error)))
  return complaints
}

function withBrands(catalogue: string, port: number): string {
  const shown = (host: string, production: boolean) => `
  - hosts: [${host}]
    name: North
    docs_url: https://docs.north.example/
    logo: { light: north.svg, dark: north.svg }
    accent: { light: "#6b3fa0", dark: "#c39bff" }
    production: ${production}
    analytics:
      script_url: http://stats.localhost:${port}/script.js
      attributes: { data-site: north-site }`
  const [before, after] = catalogue.split(/^brands:$/m)
  if (after === undefined) throw new Error('The catalogue has no brands.')
  return `${before}brands:${shown('north.localhost', true)}${shown('staging.localhost', false)}${after}`
}

/** A server as an analytics service runs one: a script, and a place where it reports to. */
async function startAnalytics(): Promise<Server> {
  const server = createServer((request, response) => {
    if (request.url === '/script.js') {
      scripts.push(new URL(request.headers.referer ?? 'http://nobody').hostname)
      response.setHeader('content-type', 'text/javascript')
      response.end(
        `const { src, dataset } = document.currentScript
        fetch(new URL('/report', src), { method: 'POST', mode: 'no-cors', body: dataset.site + ' ' + location.pathname })`,
      )
      return
    }
    let body = ''
    request.on('data', chunk => {
      body += chunk
    })
    request.on('end', () => {
      reports.push(body)
      response.end()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return server
}
