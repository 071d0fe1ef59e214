import { type BrowserContext, expect, type Page } from '@playwright/test'
import type { Gateway } from './gateway.ts'
import { lookAt } from './looks.ts'
import { openSignedIn, signUp, test } from './walk.ts'

/** Somebody who forgot their password, from the log-in form to the new one. */
test.describe.configure({ mode: 'serial' })

const EMAIL = 'nora@example.org'
const OLD_PASSWORD = 'Harbour-Light-7'
const NEW_PASSWORD = 'Lantern-Quay-8'
const NORA = { email: EMAIL, password: OLD_PASSWORD, name: 'Nora' }

let gateway: Gateway
let context: BrowserContext
let page: Page
let link = ''

test.beforeAll(async ({ browser, gateway: shared }) => {
  gateway = shared
  context = await browser.newContext({ baseURL: gateway.origin, viewport: { width: 1_440, height: 900 } })
  page = await context.newPage()
  await signUp(gateway, NORA)
})

test.afterAll(async () => {
  await context?.close()
})

test('[R2.1] the log-in form leads to a form that asks for a link, and takes the address along', async () => {
  await page.goto('/auth')
  await page.getByLabel('Email').fill(EMAIL)
  await page.getByRole('button', { name: 'Forgot it?' }).click()
  await expect(page).toHaveURL(/mode=reset/)
  await expect(page.getByRole('heading', { name: 'Reset your password' })).toBeVisible()
  await expect(page.getByLabel('Email')).toHaveValue(EMAIL)
  await lookAt(page, 'auth-reset')
  await page.getByRole('button', { name: 'Send the link' }).click()
  await expect(page.getByText(`If ${EMAIL} has an account here`, { exact: false })).toBeVisible()
  await lookAt(page, 'auth-reset-sent')
  await page.getByRole('button', { name: 'Send it again' }).click()
  await expect(page.getByText('A mail to reset the password was just sent', { exact: false })).toBeVisible()
})

test('an address that nobody has is answered with the same words', async () => {
  await page.goto('/auth?mode=reset')
  await page.getByLabel('Email').fill('nobody@example.org')
  await page.getByRole('button', { name: 'Send the link' }).click()
  await expect(page.getByText('If nobody@example.org has an account here', { exact: false })).toBeVisible()
})

test('[R2.1] [R5.2] the mailed link opens a page of its own, which checks the new password', async () => {
  await page.goto('/mailbox')
  const mailed = page.getByRole('link', { name: /\/reset-password\?token=/ })
  await expect(mailed).toHaveCount(1)
  link = (await mailed.getAttribute('href')) ?? ''
  await mailed.click()
  await expect(page).toHaveTitle(/^New password/)
  await expect(page.getByRole('heading', { name: 'Choose a new password' })).toBeVisible()
  await expect(page.getByRole('navigation', { name: 'Pages' })).toHaveCount(0)
  await page.getByLabel('Password', { exact: true }).fill('harbour')
  await page.getByLabel('Password, once more').fill('other')
  await page.getByRole('button', { name: 'Set the password' }).click()
  await expect(page.getByText('The passwords do not match')).toBeVisible()
  await expect(page.getByLabel('Password', { exact: true })).toBeFocused()
  await lookAt(page, 'reset-password-errors')
  await fillPassword(OLD_PASSWORD)
  await expect(page.getByText('Please choose another password than the one until now')).toBeVisible()
})

test('setting it ends the session of another browser, and the new password logs in', async ({ browser }) => {
  const other = await openSignedIn(browser, gateway, NORA)
  const elsewhere = await other.newPage()
  await elsewhere.goto('/instance-list')
  await expect(elsewhere.getByRole('heading', { name: 'Instances' })).toBeVisible()

  await fillPassword(NEW_PASSWORD)
  await expect(page.getByRole('heading', { name: 'Your new password is set' })).toBeVisible()
  await lookAt(page, 'reset-password-done')
  await expect(elsewhere).toHaveURL(/\/auth/)
  await expect(elsewhere.getByText('Login expired, please login again')).toBeVisible()
  await other.close()

  await page.getByRole('link', { name: 'Log in' }).click()
  await logIn(OLD_PASSWORD)
  await expect(page.getByText('The email or password is not right', { exact: false })).toBeVisible()
  await logIn(NEW_PASSWORD)
  await expect(page).toHaveURL(/model-endpoints/)
})

test('[R8.1] a link that was used, and one without its token, say so and offer a new one', async () => {
  await page.goto(link)
  await fillPassword('Third-Harbour-9')
  await expect(page.getByText('The reset link has expired, please request a new one')).toBeVisible()
  await lookAt(page, 'reset-password-expired')
  await page.goto('/reset-password')
  await expect(page.getByText('The reset link is invalid: its token is missing')).toBeVisible()
})

test('[R4.10] an account that needs a new password is logged out and asked to reset it', async () => {
  await page.route('**/api/account/get-account', async route => {
    const answer = await route.fetch()
    const envelope = await answer.json()
    await route.fulfill({ json: { ...envelope, data: { ...envelope.data, needUpdatePassword: true } } })
  })
  await page.goto('/payments')
  await expect(page).toHaveURL(/\/auth\?.*mode=reset/)
  await expect(page.getByText('Password has expired, please reset your password')).toBeVisible()
  expect(await page.evaluate(() => localStorage.getItem('berth.token'))).toBeNull()
  await lookAt(page, 'auth-password-expired')
  await page.unroute('**/api/account/get-account')
})

async function fillPassword(password: string): Promise<void> {
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByLabel('Password, once more').fill(password)
  await page.getByRole('button', { name: 'Set the password' }).click()
}

async function logIn(password: string): Promise<void> {
  await page.getByLabel('Email').fill(EMAIL)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
}
