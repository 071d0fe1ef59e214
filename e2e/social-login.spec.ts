import { type BrowserContext, expect, type Page, test } from '@playwright/test'
import { OIDC_CLIENT, type OidcServer, startOidcServer } from '../apps/gateway/test/oidc-server.ts'
import { type Gateway, startGateway } from './gateway.ts'
import { lookAt } from './looks.ts'

/** Somebody who comes by another service: the real `oidc-provider`, with its own pages, as its own server. */
test.describe.configure({ mode: 'serial' })

const LOGIN = 'vera@example.org'
const PASSWORD = 'Harbour-Light-7'
const names = { application: 'berth-console', organization: 'berth' }

let oidc: OidcServer
let gateway: Gateway
let context: BrowserContext
let page: Page

test.beforeAll(async ({ browser }) => {
  oidc = await startOidcServer()
  oidc.people.set(LOGIN, { email: LOGIN, email_verified: true, name: 'Vera Holm' })
  const acme = { name: 'acme', type: 'oidc', display_name: 'Acme', issuer: oidc.issuer, ...OIDC_CLIENT }
  const github = { name: 'github', type: 'github', client_id: 'x', client_secret: 'y' }
  gateway = await startGateway({ BERTH_SIGN_IN_PROVIDERS: JSON.stringify([github, acme]) })
  context = await newContext()
  page = await context.newPage()

  async function newContext() {
    const made = await browser.newContext({
      baseURL: gateway.origin,
      viewport: { width: 1_440, height: 900 },
    })
    // The service's pages ask the world for a font.
    await made.route('**/fonts.googleapis.com/**', route => route.abort())
    return made
  }
})

test.afterAll(async () => {
  await context?.close()
  await gateway?.stop()
  await oidc?.stop()
})

test('[R2.6] signing up leads through the service’s own pages to where the customer wanted to go', async () => {
  await page.goto('/payments')
  await expect(page).toHaveURL(/\/auth\?/)
  await expect(page.getByRole('button', { name: 'Continue with GitHub' })).toBeVisible()
  await lookAt(page, 'auth-providers')
  await page.getByRole('button', { name: 'Create an account' }).click()
  await lookAt(page, 'auth-providers-sign-up')
  await page.getByRole('button', { name: 'Continue with Acme' }).click()
  await expect(page).toHaveURL(new RegExp(`^${oidc.issuer}/interaction/`))
  await page.getByPlaceholder('Enter any login').fill(LOGIN)
  await page.getByPlaceholder('and password').fill('any')
  await page.getByRole('button', { name: 'Sign-in' }).click()
  await page.getByRole('button', { name: 'Continue', exact: true }).click()
  await expect(page).toHaveURL(`${gateway.origin}/payments`)
  expect(await accountOf(page)).toMatchObject({
    email: LOGIN,
    displayName: 'Vera Holm',
    emailVerified: true,
    provider: 'acme',
  })
})

test('logging out and coming by the service again opens the same account', async () => {
  const { id } = await accountOf(page)
  await page.goto('/logout')
  await page.getByRole('button', { name: 'Log out' }).click()
  await expect(page).toHaveURL(/\/auth/)
  await page.getByRole('button', { name: 'Continue with Acme' }).click()
  await page.getByRole('button', { name: 'Continue', exact: true }).click()
  await expect(page).toHaveURL(/\/instance-list/)
  expect((await accountOf(page)).id).toBe(id)
  expect(await page.evaluate(() => sessionStorage.getItem('berth.provider-visit'))).toBeNull()
  await signOut()
})

test('[R8.1] whoever turns back at the service is told so, and can begin again', async () => {
  await page.goto('/auth?redirect=/payments')
  await page.getByRole('button', { name: 'Continue with Acme' }).click()
  await page.getByRole('link', { name: 'Cancel' }).click()
  await expect(page).toHaveTitle(/^Signing in/)
  await expect(page.getByRole('heading', { name: 'You are not logged in' })).toBeVisible()
  await expect(page.getByText('or you turned back there', { exact: false })).toBeVisible()
  await expect(page.getByRole('navigation', { name: 'Pages' })).toHaveCount(0)
  await lookAt(page, 'callback-denied')
  await page.getByRole('link', { name: 'Back to log in' }).click()
  await expect(page).toHaveURL(/\/auth\?redirect=%2Fpayments/)
})

test('a code that was planted, used before, or comes without its visit says so, also after a reload', async () => {
  await page.goto('/callback?code=planted&state=planted')
  await expect(page.getByText('This was finished before', { exact: false })).toBeVisible()
  await expect(page).toHaveURL(`${gateway.origin}/callback`)
  await page.reload()
  await expect(page.getByText('This was finished before', { exact: false })).toBeVisible()
  expect(await page.evaluate(() => localStorage.getItem('berth.token'))).toBeNull()
})

test('an address that has an account is not taken over: the owner is asked to log in', async ({
  browser,
}) => {
  const email = 'owner@example.org'
  const signUp = { ...names, username: email, email, name: 'Owner', password: PASSWORD, agreement: true }
  await context.request.post('/gateway/api/account/signup', { data: signUp })
  const other = await browser.newContext({ baseURL: gateway.origin })
  await other.route('**/fonts.googleapis.com/**', route => route.abort())
  const stranger = await other.newPage()
  await stranger.goto('/auth')
  await stranger.getByRole('button', { name: 'Continue with Acme' }).click()
  await passPages(stranger, email)
  await expect(
    stranger.getByText('An account with this email exists already', { exact: false }),
  ).toBeVisible()
  await lookAt(stranger, 'callback-email-taken')
  expect(await stranger.evaluate(() => localStorage.getItem('berth.token'))).toBeNull()

  // The owner logs in, links the service, and comes in by it from then on.
  await stranger.getByRole('link', { name: 'Back to log in' }).click()
  await stranger.getByLabel('Email').fill(email)
  await stranger.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await stranger.getByRole('button', { name: 'Log in', exact: true }).click()
  await expect(stranger).toHaveURL(/\/instance-list/)
  await beginLink(stranger)
  await stranger.getByRole('button', { name: 'Continue', exact: true }).click()
  await expect(stranger).toHaveURL(`${gateway.origin}/settings`)
  expect((await accountOf(stranger)).properties).toMatchObject({
    oauth_acme_id: email,
    oauth_acme_email: email,
  })
  await other.close()
})

test('a service that does not answer fails at its own button, and the form stays usable', async () => {
  // Its port is free again by the time that it is asked.
  const fresh = await startOidcServer()
  await fresh.stop()
  const lone = await startGateway({
    BERTH_SIGN_IN_PROVIDERS: JSON.stringify([
      { name: 'gone', type: 'oidc', display_name: 'Gone', issuer: fresh.issuer, ...OIDC_CLIENT },
    ]),
  })
  await page.goto(`${lone.origin}/auth`)
  await page.getByRole('button', { name: 'Continue with Gone' }).click()
  await expect(page.getByText('Signing in through the other service failed', { exact: false })).toBeVisible()
  await expect(page.getByRole('button', { name: 'Continue with Gone' })).toBeEnabled()
  await lookAt(page, 'auth-provider-down')
  await lone.stop()
})

async function passPages(where: Page, login: string): Promise<void> {
  await where.getByPlaceholder('Enter any login').fill(login)
  await where.getByPlaceholder('and password').fill('any')
  await where.getByRole('button', { name: 'Sign-in' }).click()
  await where.getByRole('button', { name: 'Continue', exact: true }).click()
}

async function signOut(): Promise<void> {
  await page.goto('/logout')
  await page.getByRole('button', { name: 'Log out' }).click()
  await expect(page).toHaveURL(/\/auth/)
}

interface Account {
  id: string
  email: string
  properties: Record<string, string>
}

/** The account of the token that a page keeps. */
async function accountOf(where: Page): Promise<Account> {
  const token = await where.evaluate(() => localStorage.getItem('berth.token'))
  const answer = await where.request.get(`${gateway.origin}/gateway/api/account/get-account`, {
    headers: { authorization: `Bearer ${token}` },
  })
  return (await answer.json()).data
}

/** What the settings page does with `beginProvider(…, 'link', '/settings')`. */
async function beginLink(where: Page): Promise<void> {
  await where.evaluate(async body => {
    const answer = await fetch('/gateway/api/account/begin-provider-sign-in', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${localStorage.getItem('berth.token')}`,
      },
      body: JSON.stringify({ ...body, provider: 'acme', method: 'link' }),
    })
    const { url, browserKey, redirectUri } = (await answer.json()).data
    const state = new URL(url).searchParams.get('state')
    const visit = { provider: 'acme', method: 'link', state, browserKey, redirectUri, returnTo: '/settings' }
    sessionStorage.setItem('berth.provider-visit', JSON.stringify(visit))
    location.assign(url)
  }, names)
}
