import { generateKeyPairSync } from 'node:crypto'
import { type Browser, type BrowserContext, expect, type Page } from '@playwright/test'
import type { Gateway } from './gateway.ts'
import { lookAt } from './looks.ts'
import { call as callApi, openSignedIn, signUp, sshLineOf, test, topUp, verifyAddress } from './walk.ts'

/** Somebody looks after their account, from the name that it goes by to the day that they leave. */
test.describe.configure({ mode: 'serial' })

const EMAIL = 'ines@example.org'
const PASSWORD = 'Harbour-Light-7'
const INES = { email: EMAIL, password: PASSWORD, name: 'Inês' }
const NEW_PASSWORD = 'Lantern-Quay-8'
const FIREFOX = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:144.0) Gecko/20100101 Firefox/144.0'
const SAFARI =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1'

let gateway: Gateway
let context: BrowserContext
let page: Page
/** Other devices that are signed in; closed at the end. */
const elsewhere: BrowserContext[] = []

test.beforeAll(async ({ browser, gateway: shared }) => {
  gateway = shared
  context = await browser.newContext({ baseURL: gateway.origin, viewport: { width: 1_440, height: 900 } })
  page = await context.newPage()
  await signUp(gateway, INES)
})

test.afterAll(async () => {
  for (const other of elsewhere) await other.close()
  await context?.close()
})

test('[R2.4] [R2.6] a guest signs in first, and comes back to the section that was asked for', async () => {
  await page.goto('/settings?section=sessions')
  await expect(page).toHaveURL(/\/auth\?redirect=%2Fsettings%3Fsection%3Dsessions/)
  await logIn(page, PASSWORD)
  await expect(page).toHaveURL(/\/settings\?section=sessions$/)
  await expect(page).toHaveTitle(/^Settings/)
  await expect(page.getByRole('heading', { name: 'Sessions' })).toBeVisible()
})

test('[R2.12] [R2.13] menu and avatar menu lead to the settings', async () => {
  await page.goto('/instance-list')
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Settings' }).click()
  await expect(page).toHaveURL(/\/settings$/)
  await page.goto('/instance-list')
  await page.getByRole('button', { name: /^Your account/ }).click()
  await page.getByRole('menuitem', { name: 'Settings' }).click()
  await expect(page.getByRole('heading', { name: 'Settings', level: 1 })).toBeVisible()
})

test('[R1.7] every section has an address, a link beside it, and a place in the list of narrow screens', async () => {
  const sections = page.getByRole('navigation', { name: 'Sections of the settings' })
  await sections.getByRole('link', { name: 'Audit log' }).click()
  await expect(page).toHaveURL(/section=audit-log/)
  await expect(page.getByRole('heading', { name: 'Audit log' })).toBeVisible()
  await page.keyboard.press('Tab')
  await expect(page.getByRole('combobox', { name: 'Show' })).toBeFocused()
  await page.setViewportSize({ width: 390, height: 844 })
  await expect(sections).toBeHidden()
  await page.getByRole('combobox', { name: 'Sections of the settings' }).selectOption('Notifications')
  await expect(page).toHaveURL(/\/settings\?section=notifications$/)
  await expect(page.getByRole('heading', { name: 'Mails that you choose' })).toBeVisible()
  await page.goBack()
  await page.setViewportSize({ width: 1_440, height: 900 })
  await page.goto('/settings?section=nonsense')
  await expect(page.getByRole('heading', { name: 'Username' })).toBeVisible()
})

test('[R5.1] [R1.7] a username with an emoji is refused and kept as typed; another one is taken', async () => {
  const field = page.getByLabel('Username')
  const save = page.getByRole('button', { name: 'Save', exact: true })
  await expect(save).toBeDisabled()
  await field.fill('Inês 🚢')
  await save.click()
  await expect(page.getByText('A username cannot contain emoji')).toBeVisible()
  await expect(field).toBeFocused()
  await expect(field).toHaveValue('Inês 🚢')
  await lookAt(page, 'settings-profile-error')
  await field.fill('Inês Duarte')
  await save.click()
  await expect(page.getByText('Your username is saved.')).toBeVisible()
  await page.reload()
  await expect(field).toHaveValue('Inês Duarte')
  await expect(page.getByText('Not verified yet')).toBeVisible()
  await lookAt(page, 'settings-profile-unverified')
  await verifyAddress(gateway, EMAIL)
  await page.reload()
  await expect(page.getByText('Verified', { exact: true })).toBeVisible()
  await expect(page.getByRole('button', { name: 'Copy Account ID' })).toBeVisible()
  await lookAt(page, 'settings-profile')
})

test('[B12] sessions name the device and end one by one, and all others at once', async ({ browser }) => {
  const first = await signInElsewhere(browser, FIREFOX)
  await openSection('sessions')
  const firefox = page.getByRole('row', { name: /Firefox on Windows/ })
  await expect(page.getByRole('row', { name: /This device/ })).toContainText('Just now')
  await expect(firefox).toContainText('127.0.0.1')
  await lookAt(page, 'settings-sessions')
  await firefox.getByRole('button', { name: 'End the session of Firefox on Windows at 127.0.0.1' }).click()
  await expect(firefox).toHaveCount(0)
  await expectSignedOut(first)

  const others = [await signInElsewhere(browser, FIREFOX), await signInElsewhere(browser, SAFARI)]
  await page.reload()
  await expect(page.getByRole('row', { name: /Safari on iPhone/ })).toBeVisible()
  await page.getByRole('button', { name: 'End all others' }).click()
  const dialog = page.getByRole('dialog', { name: 'End all other sessions?' })
  await expect(dialog).toContainText('2 other devices')
  await lookAt(page, 'settings-sessions-end-others')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await expect(dialog).toHaveCount(0)
  await expect(page.getByRole('button', { name: 'End all others' })).toBeFocused()
  await page.keyboard.press('Enter')
  await dialog.getByRole('button', { name: 'End all others' }).click()
  await expect(page.getByText('2 sessions have ended.')).toBeVisible()
  await expect(page.getByText('You are signed in on this device only.')).toBeVisible()
  for (const other of others) await expectSignedOut(other)
})

test('[R5.2] [B12] a new password asks for the old one, and ends the session of another device', async ({
  browser,
}) => {
  const other = await signInElsewhere(browser, FIREFOX)
  await openSection('sign-in')
  await expect(page.getByText('No other service is set up for signing in here.')).toBeVisible()
  await lookAt(page, 'settings-sign-in')
  await fillPasswords('Not-The-Old-One-1', 'weak', 'other')
  await expect(page.getByText('The passwords do not match')).toBeVisible()
  await expect(page.getByLabel('New password')).toBeFocused()
  await fillPasswords('Not-The-Old-One-1', NEW_PASSWORD, NEW_PASSWORD)
  await expect(page.getByText('This is not the password of the account')).toBeVisible()
  await expect(page.getByLabel('Current password')).toBeFocused()
  await expect(page.getByLabel('New password')).toHaveValue(NEW_PASSWORD)
  await lookAt(page, 'settings-sign-in-error')
  await fillPasswords(PASSWORD, PASSWORD, PASSWORD)
  await expect(page.getByText('Please choose another password than the one until now')).toBeVisible()
  await fillPasswords(PASSWORD, NEW_PASSWORD, NEW_PASSWORD)
  await expect(page.getByText('Your password is changed. Every other session has ended.')).toBeVisible()
  await expect(page.getByLabel('New password')).toHaveValue('')
  await expectSignedOut(other)
  await logIn(other, PASSWORD)
  await expect(other.getByText('The email or password is not right', { exact: false })).toBeVisible()
  await logIn(other, NEW_PASSWORD)
  await expect(other).toHaveURL(/instance-list/)
})

test('[R1.7] [B4] notifications are kept with each switch; what could not be kept stays chosen', async () => {
  await openSection('notifications')
  const receipts = page.getByRole('switch', { name: 'Top-up receipt' })
  const saved = page.getByText('Saved', { exact: true })
  await expect(receipts).toBeChecked()
  await lookAt(page, 'settings-notifications')
  await receipts.uncheck({ force: true })
  await page.getByLabel('12 h').check()
  await page.getByLabel('24 h').uncheck()
  await expect(saved).toBeVisible()
  await page.reload()
  await expect(receipts).not.toBeChecked()
  await expect(page.getByLabel('12 h')).toBeChecked()
  await expect(page.getByLabel('24 h')).not.toBeChecked()

  await context.setOffline(true)
  await page.getByRole('switch', { name: 'New sign-in' }).uncheck({ force: true })
  await expect(page.getByText(/^Not saved\. Network connection failed/)).toBeVisible()
  await expect(page.getByRole('switch', { name: 'New sign-in' })).not.toBeChecked()
  await context.setOffline(false)
  await lookAt(page, 'settings-notifications-failed')
  await page.getByRole('button', { name: 'Save again' }).click()
  await expect(saved).toBeVisible()
  await page.reload()
  await expect(receipts).not.toBeChecked()
  await expect(page.getByRole('switch', { name: 'New sign-in' })).not.toBeChecked()
})

test('[R1.7] an SSH key is added once; a private one is taken out of the field and never sent', async () => {
  await openSection('ssh-keys')
  await expect(page.getByText('No SSH keys yet')).toBeVisible()
  await lookAt(page, 'settings-ssh-keys-none')
  const sent: string[] = []
  page.on('request', request => sent.push(request.postData() ?? ''))
  const dialog = page.getByRole('dialog', { name: 'Add an SSH key' })
  const field = dialog.getByLabel('Public key')
  const pair = generateKeyPairSync('ed25519')
  await page.getByRole('button', { name: 'Add SSH key' }).click()
  await field.fill(pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())
  await expect(dialog.getByText('That was a private key')).toBeVisible()
  await expect(field).toHaveValue('')
  await lookAt(page, 'settings-ssh-key-private')
  await field.fill('not a key')
  await dialog.getByRole('button', { name: 'Add key' }).click()
  await expect(dialog.getByText('This is not a public SSH key', { exact: false })).toBeVisible()
  await field.fill(`${sshLineOf(pair.publicKey)} ines@laptop`)
  await dialog.getByRole('button', { name: 'Add key' }).click()
  await expect(page.getByRole('row', { name: /ines@laptop/ })).toContainText('SHA256:')
  expect(sent.filter(body => body.includes('PRIVATE KEY'))).toEqual([])
  await lookAt(page, 'settings-ssh-keys')
  await page.getByRole('button', { name: 'Add SSH key' }).click()
  await field.fill(sshLineOf(pair.publicKey))
  await dialog.getByRole('button', { name: 'Add key' }).click()
  await expect(dialog.getByText('This key is there already')).toBeVisible()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
})

test('[R3.12] [R2.25] a registry credential is kept without ever showing its password again', async () => {
  await openSection('registries')
  await page.getByRole('button', { name: 'Add credential' }).click()
  const dialog = page.getByRole('dialog', { name: 'Add a registry credential' })
  await dialog.getByLabel('Registry').fill('https://ghcr.io/ines')
  await dialog.getByLabel('Name', { exact: true }).fill('Packages')
  await dialog.getByLabel('Username').fill('ines')
  await dialog.getByLabel('Password or token').fill('ghp-not-a-real-token')
  await dialog.getByRole('button', { name: 'Add credential' }).click()
  await expect(dialog.getByText('A registry is a host name such as ghcr.io', { exact: false })).toBeVisible()
  await lookAt(page, 'settings-registry-error')
  await dialog.getByLabel('Registry').fill('ghcr.io')
  await dialog.getByRole('button', { name: 'Add credential' }).click()
  await expect(page.getByRole('row', { name: /Packages/ })).toContainText('Not checked yet')
  await lookAt(page, 'settings-registries')
  expect(JSON.stringify(await call('GET', '/api/registry/'))).not.toContain('ghp-not-a-real-token')
})

/** The gateway answers the next POST to that address as it does when whoever calls signed in a while ago. */
async function pretendIdle(address: string): Promise<void> {
  const envelope = { status: 'error', code: 'recent_sign_in_required', msg: '', data: null }
  let isIdle = true
  await page.route(address, async route => {
    if (!isIdle || route.request().method() !== 'POST') return await route.fallback()
    isIdle = false
    await route.fulfill({ status: 403, json: envelope })
  })
}

test('[B10] an API key wants a recent sign-in, is shown this once, and can be revoked', async () => {
  await openSection('api-keys')
  await page.getByRole('button', { name: 'Make an API key' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('nightly batch')
  await pretendIdle('**/api/model-verse/api-key/')
  await dialog.getByRole('button', { name: 'Make key' }).click()
  const question = page.getByRole('dialog', { name: 'Confirm that it is you' })
  await question.getByLabel('Password', { exact: true }).fill(NEW_PASSWORD)
  await lookAt(page, 'confirm-sign-in')
  await question.getByRole('button', { name: 'Confirm' }).click()
  await expect(question).toHaveCount(0)
  const shown = dialog.getByRole('region', { name: 'API key' })
  const key = await shown.innerText()
  expect(key).toMatch(/^bk-\S{20,}$/)
  await lookAt(page, 'settings-api-key-made')
  await dialog.getByRole('button', { name: 'I have kept it' }).click()
  await page.reload()
  const row = page.getByRole('row', { name: /nightly batch/ })
  await expect(row).toContainText('Not used yet')
  expect(await page.content()).not.toContain(key)
  await lookAt(page, 'settings-api-keys')
  await row.getByRole('button', { name: 'Revoke nightly batch' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click()
  await expect(row).toContainText('Revoked')
})

test('[B12] the audit log says in words what was done, what was refused and why, and from where', async () => {
  await openSection('audit-log')
  for (const what of [
    'Revoke an API key',
    'Make an API key',
    'Add a registry credential',
    'Add an SSH key',
    'Choose notifications',
    'Change the password',
  ]) {
    await expect(row(what).first()).toBeVisible()
  }
  await expect(row('Add an SSH key').first()).toContainText('Refused')
  await lookAt(page, 'settings-audit-log')
  await page.getByRole('button', { name: 'Older' }).click()
  await expect(page).toHaveURL(/page=2/)
  for (const what of ['Change the username', 'Verify the email address', 'Create the account']) {
    await expect(row(what)).toBeVisible()
  }
  await page.getByRole('combobox', { name: 'Show' }).selectOption('Account')
  await expect(page).not.toHaveURL(/page=2/)
  await expect(row('End all other sessions')).toBeVisible()
  await expect(row('End a session')).toBeVisible()
  await expect(row('Log in').first()).toContainText('Firefox on Windows')
  await expect(row('Log in').first()).toContainText('127.0.0.1')
  await expect(row('Failed log-in')).toContainText('Refused: the password was not right')
  await expect(row('Change the password').first()).not.toContainText('Refused')
  await expect(row('Change the password').last()).toContainText('Refused: what was entered did not fit')
  await page.getByRole('combobox', { name: 'Show' }).selectOption('Notifications')
  await expect(page).toHaveURL(/group=notification/)
  await expect(row('Log in')).toHaveCount(0)
  await expect(row('Choose notifications').first()).toBeVisible()
  await page.getByRole('combobox', { name: 'Show' }).selectOption('Billing')
  await expect(page.getByText('Nothing of that kind')).toBeVisible()
  await lookAt(page, 'settings-audit-log-none')
})

test('deleting the account asks for address and password, and refuses while it has instances', async () => {
  const id = await deployMachine()
  await openSection('delete')
  await expect(page.getByText('You have 1 instance. Terminate it first.')).toBeVisible()
  await expect(page.getByText(/Your remaining balance of \$\d+\.\d\d/)).toBeVisible()
  await lookAt(page, 'settings-delete')
  await askForDeletion('somebody@example.org', '')
  await expect(page.getByText('This is not the same')).toBeVisible()
  await expect(page.getByLabel(`Type ${EMAIL} to confirm`)).toBeFocused()
  await askForDeletion(EMAIL, PASSWORD)
  await expect(page.getByText('This is not the password of the account')).toBeVisible()
  await askForDeletion(EMAIL, NEW_PASSWORD)
  await expect(page.getByText('The account still has instances (1).', { exact: false })).toBeVisible()
  await expect(page.getByLabel(`Type ${EMAIL} to confirm`)).toHaveValue(EMAIL)
  await lookAt(page, 'settings-delete-refused')
  await call('DELETE', `/api/instance/${id}`)
  await expect.poll(() => call('GET', '/api/instance/')).toEqual([])
})

test('a deleted account is gone at once: its sessions end, and its address is free', async () => {
  await page.reload()
  await expect(page.getByText('What goes')).toBeVisible()
  await expect(page.getByText(/You have \d+ instance/)).toHaveCount(0)
  await askForDeletion(EMAIL.toUpperCase(), NEW_PASSWORD)
  await expect(page).toHaveURL(/\/auth$/)
  await expect(page.getByText('Your account was deleted.', { exact: false })).toBeVisible()
  await lookAt(page, 'auth-account-deleted')
  expect(await page.evaluate(() => localStorage.getItem('berth.token'))).toBeNull()
  await logIn(page, NEW_PASSWORD)
  await expect(page.getByText('The email or password is not right', { exact: false })).toBeVisible()
  await signUp(gateway, INES)
  await logIn(page, PASSWORD)
  await expect(page).toHaveURL(/model-endpoints/)
  await expect(page.getByRole('banner').getByText('$0.00')).toBeVisible()
  await openSection('profile')
  await expect(page.getByLabel('Username')).toHaveValue('Inês')
})

const row = (what: string) => page.getByRole('row').filter({ has: page.getByText(what, { exact: true }) })

/** By its link beside the section that is open, which loads no page anew; from elsewhere by its address. */
async function openSection(section: string): Promise<void> {
  const address = `/settings?section=${section}`
  const sections = page.getByRole('navigation', { name: 'Sections of the settings' })
  if (new URL(page.url()).pathname === '/settings') await sections.locator(`a[href="${address}"]`).click()
  else await page.goto(address)
}

async function logIn(where: Page, password: string): Promise<void> {
  await where.getByLabel('Email').fill(EMAIL)
  await where.getByLabel('Password', { exact: true }).fill(password)
  await where.getByRole('button', { name: 'Log in', exact: true }).click()
}

/** Another device, signed in. */
async function signInElsewhere(browser: Browser, userAgent: string): Promise<Page> {
  const other = await openSignedIn(browser, gateway, INES, { userAgent })
  elsewhere.push(other)
  const its = await other.newPage()
  await its.goto('/instance-list')
  await expect(its.getByRole('heading', { name: 'Instances' })).toBeVisible()
  return its
}

/** The balance is asked for every five seconds, so a page notices by itself. */
async function expectSignedOut(other: Page): Promise<void> {
  await expect(other).toHaveURL(/\/auth/)
  await expect(other.getByText('Login expired, please login again')).toBeVisible()
}

async function fillPasswords(old: string, next: string, again: string): Promise<void> {
  await page.getByLabel('Current password').fill(old)
  await page.getByLabel('New password').fill(next)
  await page.getByLabel('Password, once more').fill(again)
  await page.getByRole('button', { name: 'Change the password' }).click()
}

async function askForDeletion(email: string, password: string): Promise<void> {
  await page.getByLabel(`Type ${EMAIL} to confirm`).fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Delete the account for good' }).click()
}

/** Tops up and deploys the smallest machine. @returns Its id. */
async function deployMachine(): Promise<string> {
  await topUp(gateway, { email: EMAIL, password: NEW_PASSWORD })
  const machine = { name: 'last-one', region_code: 'us-west', gpu_spec_id: 'cpu', gpu_count: 1 }
  const body = { ...machine, image_id: 'berth-base', container_disk_gb: 20 }
  return (await call('POST', '/api/instance/', body)).instance_id
}

/** A call of the customer who is signed in on this page. */
async function call(method: string, path: string, data?: object) {
  const token = await page.evaluate(() => localStorage.getItem('berth.token'))
  const headers = { authorization: `Bearer ${token}`, 'idempotency-key': crypto.randomUUID() }
  return await callApi(gateway.origin, method, path, { headers, ...(data === undefined ? {} : { data }) })
}
