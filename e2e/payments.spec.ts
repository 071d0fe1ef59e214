import { type BrowserContext, expect, type Page } from '@playwright/test'
import { lookAt } from './looks.ts'
import { openSignedIn, signUp, test, verifyAddress } from './walk.ts'

/** Payments that are not decided at once: what the customer is asked, told, and never told too early. */
test.describe.configure({ mode: 'serial' })

const PAULA = { email: 'paula@example.org', password: 'Harbour-Light-7', name: 'Paula' }
const ASKS = '4000 0025 0000 3155'
const FAILS_AFTER = '4000 0084 0000 1629'
const LATE = '6011 1111 1111 1117'

let context: BrowserContext
let page: Page

test.beforeAll(async ({ browser, gateway }) => {
  await signUp(gateway, PAULA)
  await verifyAddress(gateway, PAULA.email)
  context = await openSignedIn(browser, gateway, PAULA)
  page = await context.newPage()
})

test.afterAll(() => context?.close())

test('[R2.22] [B2] an address that speaks of a payment pays nothing and says nothing of success', async () => {
  await page.goto('/payments?topup=t_01890000-0000-7000-8000-000000000000&status=succeeded')
  await expect(page.getByRole('dialog').getByRole('alert')).toBeVisible()
  await expect(page.getByText('added to your balance')).toHaveCount(0)
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
  await expect(page.getByRole('banner').getByText('$0.00')).toBeVisible()
})

test('[R2.22] a card that asks first: nothing is charged until its own page was answered', async () => {
  await pay('40', ASKS)
  await expect(dialog().getByRole('status')).toContainText('$40.00')
  await lookAt(page, 'topup-asked')
  const bank = await openBank()
  await bank.getByRole('button', { name: /confirm/i }).click()
  await bank.getByRole('link', { name: 'Back to the console' }).click()
  await expect(bank.getByText('added to your balance')).toBeVisible()
  await expect(bank.getByRole('banner').getByText('$40.00')).toBeVisible()
  await bank.close()
  await expect(dialog()).toHaveCount(0)
})

test('[R8.1] a payment that is turned down says so, and the form still holds what was typed', async () => {
  await pay('30', FAILS_AFTER)
  const bank = await openBank()
  await bank.getByRole('button', { name: /confirm/i }).click()
  await expect(dialog().getByRole('button', { name: 'Use another card' })).toBeVisible()
  await bank.close()
  await lookAt(page, 'topup-failed')
  await dialog().getByRole('button', { name: 'Use another card' }).click()
  await expect(dialog().getByLabel('Amount in USD')).toHaveValue('30')
  await expect(dialog().getByLabel('Card number')).toHaveValue(FAILS_AFTER)
  await expect(page.getByRole('banner').getByText('$40.00')).toBeVisible()
})

test('[R2.22] [R3.10] money that is on its way is called that, and is there when it has arrived', async () => {
  await dialog().getByLabel('Amount in USD').fill('20')
  await dialog().getByLabel('Card number').fill(LATE)
  await dialog().getByRole('button', { name: /^Pay/ }).click()
  await expect(dialog().getByRole('status')).toContainText('$20.00')
  await lookAt(page, 'topup-late')
  await expect(page.getByRole('banner').getByText('$40.00')).toBeVisible()
  await expect(page.getByRole('banner').getByText('$60.00')).toBeVisible({ timeout: 40_000 })
})

function dialog() {
  return page.getByRole('dialog')
}

async function pay(amount: string, card: string): Promise<void> {
  await page.goto('/payments?topup=open')
  await dialog().getByLabel('Amount in USD').fill(amount)
  await dialog().getByLabel('Card number').fill(card)
  await dialog().getByRole('button', { name: /^Pay/ }).click()
}

async function openBank(): Promise<Page> {
  const [bank] = await Promise.all([context.waitForEvent('page'), dialog().getByRole('link').first().click()])
  return bank
}
