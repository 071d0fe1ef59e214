import { readFile } from 'node:fs/promises'
import { type BrowserContext, expect, type Page, type Route } from '@playwright/test'
import { PATIENCE_MS } from '../scripts/test/patience-ms.ts'
import { lookAt } from './looks.ts'
import { call, openSignedIn, signUp, test, verifyAddress } from './walk.ts'

/**
 * One customer's money from end to end, and payments that are not decided at once: what the customer is asked, told, and
 * never told too early.
 */
test.describe.configure({ mode: 'serial' })

const MONA = { email: 'mona@example.org', password: 'Harbour-Light-7', name: 'Mona' }
const PAULA = { email: 'paula@example.org', password: 'Harbour-Light-7', name: 'Paula' }
const VISA = '4242 4242 4242 4242'
const MASTERCARD = '5555 5555 5555 4444'
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

test('[R1.3] top up, cards, auto top-up, a coupon, bills, transactions and invoices, by one customer', async ({
  browser,
  gateway,
}) => {
  // All that a customer does there, one after the other: a minute and a half where nothing else is done.
  test.setTimeout(300_000)
  await signUp(gateway, MONA)
  await verifyAddress(gateway, MONA.email)
  const coupon = gateway.operate(
    ...['coupons', 'create', 'HARBOUR-5', '--amount', '5', '--currency', 'USD'],
    ...['--until', '2099-12-31', '--total', '1', '--credit-days', '30'],
  )
  const own = await openSignedIn(browser, gateway, MONA)
  const mona = await own.newPage()
  const balance = mona.getByRole('banner')
  const asked = mona.getByRole('dialog')
  const cards = cardOf(mona, 'Payment methods')
  const transactions = mona.getByRole('table', { name: 'Transactions' })

  await test.step('a top-up whose card is kept', async () => {
    await mona.goto('/payments')
    await balance.getByRole('link', { name: 'Top up' }).click()
    await asked.getByLabel('Amount in USD').fill('30')
    await asked.getByLabel('Card number').fill(VISA)
    await asked.getByLabel('Save this card').check()
    await asked.getByRole('button', { name: 'Pay $30.00 now' }).click()
    await expect(balance.getByText('$30.00')).toBeVisible()
    await expect(cards.getByRole('listitem')).toContainText(/Visa ending 4242.*default/)
  })

  await test.step('another card is kept, becomes the default, and the first is removed', async () => {
    await cards.getByRole('button', { name: 'Add' }).click()
    await asked.getByLabel('Card number').fill(MASTERCARD)
    await asked.getByRole('button', { name: 'Save card' }).click()
    await expect(cards.getByRole('listitem')).toHaveCount(2)
    await cards.getByRole('button', { name: 'Make Mastercard ending 4444 the default' }).click()
    const other = cards.getByRole('listitem').filter({ hasText: 'Mastercard' })
    await expect(other).toContainText('default')
    await cards.getByRole('button', { name: 'Remove Visa ending 4242' }).click()
    await asked.getByRole('button', { name: 'Remove' }).click()
    await expect(cards.getByRole('listitem')).toHaveCount(1)
    await expect(cards.getByRole('listitem')).toContainText('Mastercard ending 4444')
  })

  await test.step('a coupon is redeemed once', async () => {
    await coupon
    const credits = cardOf(mona, 'Coupons and credits')
    await credits.getByLabel('Coupon code').fill('harbour-5')
    await credits.getByRole('button', { name: 'Redeem' }).click()
    await expect(credits.getByText('$5.00 left', { exact: true })).toBeVisible()
    await expect(balance.getByText('$35.00')).toBeVisible()
    await credits.getByLabel('Coupon code').fill('harbour-5')
    await credits.getByRole('button', { name: 'Redeem' }).click()
    await expect(credits.getByRole('alert')).toBeVisible()
    await expect(balance.getByText('$35.00')).toBeVisible()
  })

  await test.step('auto top-up is turned on', async () => {
    const auto = cardOf(mona, 'Auto top-up')
    await auto.getByRole('button', { name: 'Set up' }).click()
    await asked.getByLabel(/^When less than this/).fill('40')
    await asked.getByLabel(/^Charge, USD/).fill('20')
    await asked.getByLabel(/^At most in a month/).fill('20')
    await asked.getByRole('button', { name: 'Turn on' }).click()
    await expect(auto.getByRole('switch', { name: 'Auto top-up' })).toBeChecked()
  })

  await test.step('what an instance used is on the bill, and opens in place to the micro-dollar', async () => {
    await useForAMoment(gateway.origin, mona)
    // Meanwhile it was found to be below what was said, and the default was charged by itself.
    await expect(transactions.getByRole('row', { name: /Mastercard ending 4444/ })).toContainText('+$20.00')
    await mona.getByRole('link', { name: 'Bills' }).click()
    const opener = mona.getByRole('button', { name: 'Open moored' })
    await opener.click()
    const opened = mona.getByRole('region', { name: 'What moored is made of' })
    const interval = opened.getByRole('row').filter({ hasText: 'Stopped by you' })
    await expect(interval).toHaveCount(1)
    const [, , seconds = '', rate = '', , amount = ''] = await interval.getByRole('cell').allInnerTexts()
    const due = Math.floor((Number(seconds) * Number(/[\d.]+/.exec(rate)?.[0]) * 1_000_000) / 3_600)
    // The seconds that are shown are whole, and what is charged for is not quite.
    const charged = Math.round(Number(amount.replace('$', '')) * 1_000_000)
    expect(charged - due, `${amount} for ${seconds} s`).toBeGreaterThanOrEqual(0)
    expect(charged - due).toBeLessThan(80_000 / 3_600 + 1)
    await lookAt(mona, 'bill-opened')
    // The way back closes it and leaves the page where it is, a reload opens what the address says.
    await mona.goBack()
    await expect(opened).toHaveCount(0)
    await expect(opener).toBeFocused()
    await mona.goForward()
    await mona.reload()
    await opened
      .getByRole('button', { name: /^Receipt of/ })
      .first()
      .click()
    await expect(asked.getByText('Stop asked for')).toBeVisible()
    await mona.goBack()
    await expect(asked).toHaveCount(0)
    await opener.press('Enter')
    await expect(opened).toHaveCount(0)
  })

  await test.step('its month names the invoices, and each is a PDF', async () => {
    const invoices = cardOf(mona, 'Invoices')
    await expect(invoices.getByRole('listitem')).toHaveCount(2)
    await expect(invoices.getByText(/^\d{4}-USD-\d{6}$/)).toHaveCount(2)
    const [saved] = await Promise.all([
      mona.waitForEvent('download'),
      invoices
        .getByRole('button', { name: /^Save .* as PDF$/ })
        .first()
        .click(),
    ])
    expect(saved.suggestedFilename()).toMatch(/^\d{4}-USD-\d{6}\.pdf$/)
    expect((await readFile(await saved.path())).subarray(0, 5).toString()).toBe('%PDF-')
  })

  await test.step('the list has all of it, and no more', async () => {
    await mona.getByRole('link', { name: 'Payments', exact: true }).click()
    await expect(transactions.getByRole('row', { name: /top-up/i })).toHaveCount(2)
    await expect(transactions.getByRole('row', { name: /HARBOUR-5/ })).toContainText('+$5.00')
    await expect(transactions.getByRole('row', { name: /moored/ })).toContainText('−$0.')
    await expect(cardOf(mona, 'Invoices').getByRole('row').filter({ hasText: 'Top-up' })).toHaveCount(2)
  })
  await own.close()
})

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

test('[B3] [R2.22] two tabs, a double click and the way back pay once', async () => {
  const other = await context.newPage()
  const transactions = page.getByRole('table', { name: 'Transactions' })
  const paid = (amount: string) =>
    transactions.getByRole('row', { name: new RegExp(`top-up.*\\+\\$${amount}`, 'i') })
  const fillIn = async (tab: Page, amount: string, card: string) => {
    await tab.goto('/payments?topup=open')
    await tab.getByRole('dialog').getByLabel('Amount in USD').fill(amount)
    await tab.getByRole('dialog').getByLabel('Card number').fill(card)
  }
  const button = (tab: Page) => tab.getByRole('dialog').getByRole('button', { name: /^Pay/ })

  await test.step('both tabs hold the form, and both pay', async () => {
    await fillIn(page, '11', VISA)
    await fillIn(other, '11', VISA)
    await button(page).dblclick()
    await expect(dialog()).toHaveCount(0)
    await button(other).click()
    const said = other.getByRole('dialog').getByRole('alert')
    await expect(said).toContainText('You have topped up $11.00 meanwhile')
    await lookAt(other, 'topup-elsewhere')
    await page.reload()
    await expect(paid('11.00')).toHaveCount(1)
  })

  await test.step('what the one waits for, the other shows', async () => {
    await fillIn(page, '12', ASKS)
    await fillIn(other, '13', VISA)
    await button(page).click()
    await expect(dialog().getByRole('button', { name: 'Cancel this payment' })).toBeVisible()
    await button(other).click()
    const same = other.getByRole('dialog')
    await expect(same.getByRole('status')).toContainText('$12.00')
    await same.getByRole('button', { name: 'Cancel this payment' }).click()
    await expect(dialog().getByText('The payment was canceled', { exact: false })).toBeVisible()
    await other.close()
  })

  await test.step('a form that is opened anew knows no more than the one whose answer was lost', async () => {
    let isLost = false
    // What is open is asked for at the same address.
    await page.route('**/api/bill/topup', async (route: Route) => {
      if (isLost || route.request().method() !== 'POST') return route.fallback()
      isLost = true
      await route.fetch()
      await route.abort('connectionreset')
    })
    await fillIn(page, '15', VISA)
    await button(page).click()
    await expect(dialog().getByRole('alert')).toContainText('Network connection failed')
    await fillIn(page, '16', VISA)
    await button(page).click()
    await expect(dialog().getByRole('alert')).toContainText('You have topped up $15.00 meanwhile')
    await page.reload()
    await expect(paid('15.00')).toHaveCount(1)
    await expect(paid('16.00')).toHaveCount(0)
  })

  await test.step('the way back after paying begins nothing', async () => {
    await page.goto('/payments')
    await page.getByRole('main').getByRole('button', { name: 'Top up' }).click()
    await dialog().getByLabel('Amount in USD').fill('14')
    await dialog().getByLabel('Card number').fill(VISA)
    await button(page).click()
    await expect(dialog()).toHaveCount(0)
    await page.goBack()
    await page.goForward()
    await page.reload()
    await expect(paid('14.00')).toHaveCount(1)
    await expect(paid('13.00')).toHaveCount(0)
  })
})

test('[R3.7] a card whose bank asks is saved once that was answered; a reload and other tabs say where to go on', async () => {
  const cards = cardOf(page, 'Payment methods')
  await page.goto('/payments')
  await cards.getByRole('button', { name: 'Add' }).click()
  await dialog().getByLabel('Card number').fill(ASKS)
  await dialog().getByRole('button', { name: 'Save card' }).click()
  await expect(page.getByRole('heading', { name: 'Confirm the card' })).toBeVisible()
  await lookAt(page, 'card-asked')
  // Nothing was answered: another tab has the way to it.
  const other = await context.newPage()
  await other.goto('/payments')
  const row = cardOf(other, 'Payment methods').getByRole('listitem')
  await expect(row).toContainText('waits for you to confirm it')
  await lookAt(other, 'card-waits')
  await row.getByRole('button', { name: /^Go on/ }).click()
  await other.getByRole('button', { name: 'Confirm the card' }).click()
  await other.getByRole('link', { name: 'Back to the console' }).click()
  await expect(other.getByText('The card was saved.')).toBeVisible()
  await expect(row).toContainText(/Visa ending 3155.*default/)
  await other.close()
  // In the first one it is answered too, which says so.
  await page.getByRole('button', { name: 'Refuse' }).click()
  await page.getByRole('link', { name: 'Back to the console' }).click()
  await expect(cards.getByRole('listitem')).toContainText(/Visa ending 3155.*default/)
})

/** A part of a page, by its title. */
function cardOf(where: Page, title: string) {
  return where.locator('section').filter({ has: where.getByRole('heading', { name: title, exact: true }) })
}

/** In micro-dollars: five seconds of the smallest machine. */
const SEEN_MICRO = 110

/** Has a machine run, and stops it, by calls: how that is done is other walks'. */
async function useForAMoment(origin: string, where: Page): Promise<void> {
  const token = await where.evaluate(() => localStorage.getItem('berth.token'))
  const own = (method: string, path: string, data?: object) => {
    const headers = { authorization: `Bearer ${token}`, 'idempotency-key': crypto.randomUUID() }
    return call(origin, method, path, { headers, ...(data && { data }) })
  }
  const wanted = {
    name: 'moored',
    region_code: 'us-west',
    gpu_spec_id: 'cpu',
    gpu_count: 1,
    container_disk_gb: 20,
  }
  const { instance_id: id } = await own('POST', '/api/instance/', { ...wanted, image_id: 'berth-base' })
  const is = (status: string) =>
    expect
      .poll(async () => (await own('GET', `/api/instance/${id}`)).status, { timeout: PATIENCE_MS })
      .toBe(status)
  await is('running')
  // Until it has cost something that a bill can show.
  const spent = async () =>
    Number(
      (await own('GET', `/api/bill/order?month=${new Date().toISOString().slice(0, 7)}`)).sum.amount_micro,
    )
  await expect.poll(spent, { timeout: PATIENCE_MS }).toBeGreaterThan(SEEN_MICRO)
  await own('PUT', `/api/instance/${id}/stop`)
  await is('stopped')
}

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
