import { type BrowserContext, expect, type Page } from '@playwright/test'
import { STRIPE_SETTINGS, type StripeServer, startStripeServer } from '../apps/gateway/test/stripe-server.ts'
import { type Gateway, startGateway } from './gateway.ts'
import { lookAt } from './looks.ts'
import { openSignedIn, signUp, test, verifyAddress } from './walk.ts'

/**
 * Goal: a new card is entered in a frame of Stripe's, its number goes nowhere else, and what became of the payment is what
 * the gateway has from Stripe. Method: a double of Stripe's API behind the gateway, and in place of Stripe's script one of
 * ours with the few functions that the console calls. Stripe itself is never reached, and nobody has seen its frame here.
 */
test.describe.configure({ mode: 'serial' })

const STELLA = { email: 'stella@example.org', password: 'Harbour-Light-7', name: 'Stella' }
const WORKS = '4242424242424242'
const DECLINED = '4000000000000002'
const ASKS = '4000002500003155'
const SCRIPTS = 'https://js.stripe.com/**'

let stripe: StripeServer
let gateway: Gateway
let context: BrowserContext
let page: Page
/** Which of Stripe's addresses the page has asked for, and all that it has sent to the gateway. */
const asked: string[] = []
const sent: string[] = []

test.beforeAll(async ({ browser }) => {
  stripe = await startStripeServer({ now: () => new Date() })
  gateway = await startGateway({
    BERTH_STRIPE_SECRET_KEY: STRIPE_SETTINGS.secretKey,
    BERTH_STRIPE_PUBLISHABLE_KEY: STRIPE_SETTINGS.publishableKey,
    BERTH_STRIPE_WEBHOOK_SECRET: STRIPE_SETTINGS.webhookSecret,
    BERTH_STRIPE_API: stripe.settings.apiUrl,
  })
  await signUp(gateway, STELLA)
  await verifyAddress(gateway, STELLA.email)
  context = await openSignedIn(browser, gateway, STELLA)
  page = await context.newPage()
  // As Stripe's script does it: the number leaves the browser for Stripe, and a name comes back.
  await page.exposeFunction('cardAtStripe', (number: string) =>
    stripe.house.card(number.replaceAll(' ', '') as Parameters<StripeServer['house']['card']>[0]),
  )
  await page.route(SCRIPTS, route => route.fulfill({ contentType: 'text/javascript', body: STAND_IN }))
  page.on('request', request => {
    if (new URL(request.url()).hostname.endsWith('stripe.com')) asked.push(request.url())
    else sent.push(`${request.url()} ${request.postData() ?? ''}`)
  })
})

test.afterAll(async () => {
  await context?.close()
  await gateway?.stop()
  await stripe?.close()
})

test('[R2.22] [R3.7] a new card is entered in Stripe’s frame, pays, is kept where that is said, and its number stays away from here', async () => {
  const answer = await page.goto('/payments')
  const policy = (await answer?.allHeaders())?.['content-security-policy']
  expect(policy).toMatch(/script-src [^;]*https:\/\/js\.stripe\.com/)
  expect(policy).toMatch(/frame-src [^;]*https:\/\/hooks\.stripe\.com/)
  await expect(page.getByRole('heading', { name: 'Payment methods' })).toBeVisible()
  expect(asked, 'nothing of Stripe’s is loaded before a card is entered').toEqual([])
  await fill('25', DECLINED)
  await expect(dialog().getByText('These fields are Stripe’s own', { exact: false })).toBeVisible()
  await lookAt(page, 'topup-frame')
  await pay()
  await expect(dialog().getByRole('alert')).toContainText('The card was declined.')
  await expect(frame()).toHaveValue(DECLINED)
  await frame().fill('')
  await pay()
  await expect(dialog().getByRole('alert')).toContainText('Your card number is incomplete.')
  await frame().fill(WORKS)
  await dialog().getByLabel('Save this card').check()
  await pay()
  await expect(page.getByRole('banner').getByText('$25.00')).toBeVisible()
  await expect(page.getByText('Visa ending 4242').first()).toBeVisible()
  expect(asked.length).toBeGreaterThan(0)
  expect(sent.filter(text => text.includes('4242424242') || text.includes('4000000000'))).toEqual([])
  expect(sent.some(text => text.includes('/api/bill/topup') && text.includes('"source":"pm_'))).toBe(true)
})

test('[R2.22] a bank that asks is gone to, and only what Stripe says then is believed', async () => {
  await fill('30', ASKS)
  await pay()
  const way = dialog().getByRole('link', { name: /^Continue to Stripe/ })
  await expect(way).toHaveAttribute('href', /^https:\/\/hooks\.stripe\.test\/3ds\//)
  const [, id = ''] = /topup=(t_[\w-]+)/.exec(String(waiting()?.return_url)) ?? []
  await page.goto(`/payments?topup=${id}&redirect_status=succeeded`)
  await expect(dialog().getByText('Waiting for you at Stripe')).toBeVisible()
  await expect(page.getByRole('banner').getByText('$25.00')).toBeVisible()
  stripe.house.answer(waiting()?.id ?? '', true)
  for (const event of stripe.house.events.slice(-1)) {
    const { body, headers } = stripe.deliver(event)
    const hook = `${gateway.origin}/gateway/api/bill/webhook/stripe`
    const told = await fetch(hook, {
      method: 'POST',
      body: Buffer.from(body),
      headers: headers as Record<string, string>,
    })
    expect(told.status).toBe(200)
  }
  await expect(page.getByRole('banner').getByText('$55.00')).toBeVisible()
})

test('[R3.7] a card is saved in Stripe’s frame without paying: declined, asked for by its bank, found again after a reload', async () => {
  const cards = page
    .locator('section')
    .filter({ has: page.getByRole('heading', { name: 'Payment methods' }) })
  const row = cards.getByRole('listitem').filter({ hasText: 'Stripe' })
  const bank = 'https://hooks.stripe.test/**'
  await page.route(bank, route => route.fulfill({ contentType: 'text/html', body: '<h1>Your bank</h1>' }))
  sent.length = 0
  await page.goto('/payments')
  await cards.getByRole('button', { name: 'Add' }).click()
  await expect(dialog().getByText('These fields are Stripe’s own', { exact: false })).toBeVisible()
  await lookAt(page, 'card-frame')
  await frame().fill(DECLINED)
  await dialog().getByRole('button', { name: 'Save card' }).click()
  await expect(dialog().getByRole('alert')).toContainText('The card was declined.')
  await frame().fill(ASKS)
  await dialog().getByRole('button', { name: 'Save card' }).click()
  await expect(page.getByRole('heading', { name: 'Your bank' })).toBeVisible()
  const [setup] = stripe.house.all('setup_intent').filter(({ status }) => status === 'requires_action')
  expect(page.url()).toBe(`https://hooks.stripe.test/setup/${setup?.id}`)
  // An address that leads back says nothing of what was answered.
  await page.goto(`${new URL(String(setup?.return_url)).search.replace(/^/, '/payments')}&setup_intent=x`)
  await expect(row).toContainText('waits for you to confirm it')
  await page.reload()
  await expect(row.getByRole('button', { name: /^Go on/ })).toBeVisible()
  stripe.house.answerSetup(setup?.id ?? '', true)
  await page.goto(`/payments${new URL(String(setup?.return_url)).search}`)
  await expect(page.getByText('The card was saved.')).toBeVisible()
  await expect(cards.getByRole('listitem').filter({ hasText: 'Visa ending 3155' })).toBeVisible()
  expect(sent.filter(text => text.includes('4000002500') || text.includes('4000000000'))).toEqual([])
  await page.unroute(bank)
})

test('[R2.22] where Stripe’s script is blocked, the card is entered at Stripe’s page', async () => {
  await page.unroute(SCRIPTS)
  await page.route(SCRIPTS, route => route.abort())
  await page.goto('/payments?topup=open')
  // What can be chosen moves while the form is drawn.
  await expect(async () => {
    await dialog().getByText('A new card').click()
    await expect(dialog().getByRole('radio', { name: /^A new card/ })).toBeChecked({ timeout: 1_000 })
  }).toPass()
  await expect(
    dialog().getByText('The card fields of Stripe could not be loaded.', { exact: false }),
  ).toBeVisible()
  await expect(dialog().getByRole('button', { name: 'Continue to Stripe' })).toBeEnabled()
  // The page is not loaded again for it, which would take along what was typed.
  expect(await page.evaluate(() => sessionStorage.getItem('berth.reloads'))).toBeNull()
})

function dialog() {
  return page.getByRole('dialog')
}

function frame() {
  return dialog().getByLabel('Number, at Stripe')
}

async function fill(amount: string, number: string): Promise<void> {
  await page.goto('/payments?topup=open')
  await dialog().getByLabel('Amount in USD').fill(amount)
  const other = dialog().getByText('A new card')
  await expect(frame().or(other).first()).toBeVisible()
  if (await other.isVisible()) await other.click()
  await frame().fill(number)
}

async function pay(): Promise<void> {
  await dialog().getByRole('button', { name: /^Pay/ }).click()
}

/** The payment that waits for the bank's question to be answered. */
function waiting() {
  return stripe.house.all('payment_intent').find(({ status }) => status === 'requires_action')
}

/** What the console calls of Stripe's script: it draws a field, and gives a card a name. */
const STAND_IN = `
window.Stripe = key => ({
  version: 'stand-in',
  elements: () => {
    const field = document.createElement('input')
    const listeners = {}
    return {
      field,
      update: () => {},
      submit: async () => field.value === '' ? { error: { message: 'Your card number is incomplete.' } } : {},
      create: () => ({
        on: (name, listener) => { listeners[name] = listener },
        mount: place => {
          const label = document.createElement('label')
          label.append('Number, at Stripe ', field)
          place.append(label)
          listeners.ready()
        },
        destroy: () => {},
      }),
    }
  },
  createPaymentMethod: async ({ elements }) => ({ paymentMethod: { id: await window.cardAtStripe(elements.field.value) } }),
})
window.Stripe.version = 'stand-in'
`
