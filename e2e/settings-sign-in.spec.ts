import { type BrowserContext, expect, type Page, test } from '@playwright/test'
import { OIDC_CLIENT, type OidcServer, startOidcServer } from '../apps/gateway/test/oidc-server.ts'
import { type Gateway, startGateway } from './gateway.ts'
import { lookAt } from './looks.ts'

/** Somebody who came by another service gives the account a second way in, and takes the first one away. */
test.describe.configure({ mode: 'serial' })

const LOGIN = 'vera@example.org'
const PASSWORD = 'Harbour-Light-7'

let oidc: OidcServer
let gateway: Gateway
let context: BrowserContext
let page: Page

test.beforeAll(async ({ browser }) => {
  oidc = await startOidcServer()
  oidc.people.set(LOGIN, { email: LOGIN, email_verified: true, name: 'Vera Holm' })
  const acme = { name: 'acme', type: 'oidc', display_name: 'Acme', issuer: oidc.issuer, ...OIDC_CLIENT }
  const github = { name: 'github', type: 'github', client_id: 'x', client_secret: 'y' }
  gateway = await startGateway({ BERTH_SIGN_IN_PROVIDERS: JSON.stringify([acme, github]) })
  context = await browser.newContext({ baseURL: gateway.origin, viewport: { width: 1_440, height: 900 } })
  // The service's pages ask the world for a font.
  await context.route('**/fonts.googleapis.com/**', route => route.abort())
  page = await context.newPage()
})

test.afterAll(async () => {
  await context?.close()
  await gateway?.stop()
  await oidc?.stop()
})

test('[R1.7] an account that was made by a service says so, and asks for no password that it does not have', async () => {
  await page.goto('/auth?mode=signup&redirect=/settings?section=sign-in')
  await page.getByRole('button', { name: 'Continue with Acme' }).click()
  await page.getByPlaceholder('Enter any login').fill(LOGIN)
  await page.getByPlaceholder('and password').fill('any')
  await page.getByRole('button', { name: 'Sign-in' }).click()
  await page.getByRole('button', { name: 'Continue', exact: true }).click()
  await expect(page).toHaveURL(/\/settings\?section=sign-in$/)
  await expect(page.getByRole('heading', { name: 'Set a password' })).toBeVisible()
  await expect(page.getByLabel('Current password')).toHaveCount(0)
  await expect(service('Acme')).toContainText(`Linked as ${LOGIN}`)
  await expect(service('GitHub')).toContainText('Not linked')
  await lookAt(page, 'settings-sign-in-first')
  await page.goto('/settings?section=delete')
  await expect(page.getByLabel(`Type ${LOGIN} to confirm`)).toBeVisible()
  await expect(page.getByLabel('Password', { exact: true })).toHaveCount(0)
})

test('[R1.7] the only way into an account cannot be unlinked; with a password it can', async () => {
  await page.goto('/settings?section=sign-in')
  await unlinkAcme()
  await expect(page.getByText('This is the only way into the account', { exact: false })).toBeVisible()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  await expect(page.getByRole('button', { name: 'Unlink Acme' })).toBeFocused()
  await page.getByLabel('New password').fill(PASSWORD)
  await page.getByLabel('Password, once more').fill(PASSWORD)
  await page.getByRole('button', { name: 'Set the password' }).click()
  await expect(page.getByText('Your password is set.', { exact: false })).toBeVisible()
  await expect(page.getByLabel('Current password')).toBeVisible()
  await unlinkAcme()
  await expect(page.getByText('Acme is unlinked.')).toBeVisible()
  await expect(service('Acme')).toContainText('Not linked')
  await expect(page.getByRole('button', { name: 'Link Acme' })).toBeFocused()
})

test('[R1.7] linking leads through the service and back to the section', async () => {
  await page.getByRole('button', { name: 'Link Acme' }).click()
  await page.getByRole('button', { name: 'Continue', exact: true }).click()
  await expect(page).toHaveURL(/\/settings\?section=sign-in$/)
  await expect(service('Acme')).toContainText(`Linked as ${LOGIN}`)
  await page.goto('/settings?section=audit-log')
  for (const what of ['Link another service', 'Unlink another service', 'Change the password']) {
    await expect(page.getByText(what, { exact: true }).first()).toBeVisible()
  }
  await expect(
    page.getByText('Refused: This is the only way into the account', { exact: false }),
  ).toBeVisible()
})

const service = (name: string) =>
  page
    .getByRole('main')
    .getByRole('listitem')
    .filter({ has: page.getByText(name, { exact: true }) })

async function unlinkAcme(): Promise<void> {
  await page.getByRole('button', { name: 'Unlink Acme' }).click()
  const dialog = page.getByRole('dialog', { name: 'Unlink Acme?' })
  await dialog.getByRole('button', { name: 'Unlink', exact: true }).click()
}
