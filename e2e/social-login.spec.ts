import { type Browser, type BrowserContext, expect, type Page } from '@playwright/test'
import { OIDC_CLIENT, type OidcServer, startOidcServer } from '../apps/gateway/test/oidc-server.ts'
import { type Gateway, startGateway } from './gateway.ts'
import { lookAt } from './looks.ts'
import { test } from './walk.ts'

/** Somebody who comes by another service: the real `oidc-provider`, with its own pages, as its own server. */
test.describe.configure({ mode: 'serial' })

const LOGIN = 'vera@example.org'
const HANNA = 'hanna@example.org'
const PASSWORD = 'Harbour-Light-7'
/** Where no service answers: nothing listens at the port of the old discard service. */
const NOBODY = 'http://127.0.0.1:9'
const names = { application: 'berth-console', organization: 'berth' }

let oidc: OidcServer
let gateway: Gateway
let context: BrowserContext
let page: Page

test.beforeAll(async ({ browser }) => {
  oidc = await startOidcServer()
  for (const [login, name] of [
    [LOGIN, 'Vera Holm'],
    [HANNA, 'Hanna Lind'],
  ] as const) {
    oidc.people.set(login, { email: login, email_verified: true, name })
  }
  const acme = { name: 'acme', type: 'oidc', display_name: 'Acme', issuer: oidc.issuer, ...OIDC_CLIENT }
  const github = { name: 'github', type: 'github', client_id: 'x', client_secret: 'y' }
  const gone = { name: 'gone', type: 'oidc', display_name: 'Gone', issuer: NOBODY, ...OIDC_CLIENT }
  gateway = await startGateway({
    BERTH_SIGN_IN_PROVIDERS: JSON.stringify([github, acme, gone]),
    BERTH_TEST_CARDS: 'off',
  })
  context = await newContext(browser)
  page = await context.newPage()
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

test('where nothing can be paid, the page says so, and nothing leads to a top-up', async () => {
  await expect(page.getByText('Payment is not set up here')).toBeVisible()
  await expect(page.getByRole('banner').getByLabel('Balance')).toBeVisible()
  await expect(page.getByText('Top up', { exact: true })).toHaveCount(0)
  await lookAt(page, 'payments-not-set-up')
  await page.goto('/payments?topup=open')
  await expect(page.getByRole('dialog').getByText('Payment is not set up here')).toBeVisible()
})

test('logging out and coming by the service again opens the same account', async () => {
  const { id } = await accountOf(page)
  await page.goto('/logout')
  await page.getByRole('button', { name: 'Log out' }).click()
  await expect(page).toHaveURL(/\/auth/)
  await page.getByRole('button', { name: 'Continue with Acme' }).click()
  await page.getByRole('button', { name: 'Continue', exact: true }).click()
  await expect(page).toHaveURL(/\/model-endpoints/)
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
  const other = await newContext(browser)
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
  await expect(stranger).toHaveURL(/\/model-endpoints/)
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
  await page.goto('/auth')
  await page.getByRole('button', { name: 'Continue with Gone' }).click()
  await expect(page.getByText('Signing in through the other service failed', { exact: false })).toBeVisible()
  await expect(page.getByRole('button', { name: 'Continue with Gone' })).toBeEnabled()
  await lookAt(page, 'auth-provider-down')
})

/** Somebody who came by a service gives the account a second way in, and takes the first one away. */
test.describe('a second way in', () => {
  test.beforeAll(async ({ browser }) => {
    await context.close()
    context = await newContext(browser)
    page = await context.newPage()
  })

  test('[R1.7] an account that was made by a service says so, and asks for no password that it does not have', async () => {
    await page.goto('/auth?mode=signup&redirect=/settings?section=sign-in')
    await page.getByRole('button', { name: 'Continue with Acme' }).click()
    await passPages(page, HANNA)
    await expect(page).toHaveURL(/\/settings\?section=sign-in$/)
    await expect(page.getByRole('heading', { name: 'Set a password' })).toBeVisible()
    await expect(page.getByLabel('Current password')).toHaveCount(0)
    await expect(service('Acme')).toContainText(`Linked as ${HANNA}`)
    await expect(service('GitHub')).toContainText('Not linked')
    await lookAt(page, 'settings-sign-in-first')
    await page.goto('/settings?section=delete')
    await expect(page.getByLabel(`Type ${HANNA} to confirm`)).toBeVisible()
    await expect(page.getByLabel('Password', { exact: true })).toHaveCount(0)
  })

  test('[R1.7] the only way into an account cannot be unlinked; with a password it can', async () => {
    await page.goto('/settings?section=sign-in')
    await unlinkAcme()
    await expect(page.getByText('This is the only way into the account', { exact: false })).toBeVisible()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await expect(page.getByRole('button', { name: 'Unlink Acme' })).toBeFocused()
    await page.getByRole('button', { name: 'Mail me the link' }).click()
    await page.getByRole('link', { name: 'Open the local mailbox' }).click()
    await page.getByRole('link', { name: /\/reset-password\?token=/ }).click()
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByLabel('Password, once more').fill(PASSWORD)
    await page.getByRole('button', { name: 'Set the password' }).click()
    await expect(page.getByRole('heading', { name: 'Your new password is set' })).toBeVisible()
    await page.goto('/auth?redirect=/settings?section=sign-in')
    await page.getByLabel('Email').fill(HANNA)
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Log in', exact: true }).click()
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
    await expect(service('Acme')).toContainText(`Linked as ${HANNA}`)
    await page.goto('/settings?section=audit-log')
    for (const what of [
      'Link another service',
      'Unlink another service',
      'Reset the password by a mailed link',
    ]) {
      await expect(page.getByText(what, { exact: true }).first()).toBeVisible()
    }
    await expect(
      page.getByText('Refused: This is the only way into the account', { exact: false }),
    ).toBeVisible()
  })
})

async function newContext(browser: Browser): Promise<BrowserContext> {
  const made = await browser.newContext({ baseURL: gateway.origin, viewport: { width: 1_440, height: 900 } })
  // The service's pages ask the world for a font.
  await made.route('**/fonts.googleapis.com/**', route => route.abort())
  return made
}

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
