import { type BrowserContext, expect, type Page } from '@playwright/test'
import { type Gateway, startGateway } from './gateway.ts'
import { lookAt } from './looks.ts'
import { FROM_ELSEWHERE, signUp, test } from './walk.ts'

/** Somebody who mistypes their password, meets the captcha, and gets past it without seeing the picture. */
test.describe.configure({ mode: 'serial' })

const EMAIL = 'iris@example.org'
const PASSWORD = 'Harbour-Light-7'
const WRONG = 'Harbour-Night-7'
const IRIS = { email: EMAIL, password: PASSWORD, name: 'Iris' }

const ONES = 'one two three four five six seven eight nine'.split(' ')
const TENS = 'ten twenty thirty forty fifty sixty seventy eighty ninety'.split(' ')

let gateway: Gateway
let context: BrowserContext
let page: Page

test.beforeAll(async ({ browser, gateway: shared }) => {
  gateway = shared
  context = await browser.newContext({
    baseURL: gateway.origin,
    viewport: { width: 1_440, height: 900 },
    extraHTTPHeaders: FROM_ELSEWHERE,
  })
  page = await context.newPage()
  await signUp(gateway, IRIS)
})

test.afterAll(async () => {
  await context?.close()
})

test('after wrong passwords the form asks for what the picture shows, and keeps what was typed', async () => {
  await page.goto('/auth')
  await expect(page.getByRole('img', { name: 'A picture with five digits' })).toHaveCount(0)
  await logIn(WRONG)
  await expect(page.getByText('4 tries are left', { exact: false })).toBeVisible()
  await expect(page.getByLabel('Digits in the picture')).toHaveCount(0)
  await logIn(WRONG)
  await expect(page.getByText('3 tries are left', { exact: false })).toBeVisible()
  const picture = page.getByRole('img', { name: 'A picture with five digits' })
  await expect(picture).toBeVisible()
  expect(
    await picture.evaluate((image: HTMLImageElement) => [image.naturalWidth, image.naturalHeight]),
  ).toEqual([200, 80])
  await expect(page.getByLabel('Email')).toHaveValue(EMAIL)
  await expect(page.getByLabel('Password', { exact: true })).toHaveValue(WRONG)
  await lookAt(page, 'auth-captcha')
})

test('another picture is another one, and a form without an answer is not sent', async () => {
  const picture = page.getByRole('img', { name: 'A picture with five digits' })
  const before = await picture.getAttribute('src')
  await page.getByRole('button', { name: 'Another picture' }).click()
  await expect(picture).not.toHaveAttribute('src', before ?? '')
  await expect(page.getByLabel('Digits in the picture')).toBeFocused()
  await logIn(PASSWORD)
  await expect(page.getByText('Please answer the captcha to go on')).toBeVisible()
  await expect(page.getByLabel('Digits in the picture')).toBeFocused()
  await expect(page).toHaveURL(/\/auth/)
})

test('a wrong answer brings a new picture and takes no try', async () => {
  await page.getByLabel('Digits in the picture').fill('1')
  await page.keyboard.press('Enter')
  await expect(page.getByText('That was not what the captcha shows', { exact: false })).toBeVisible()
  await expect(page.getByLabel('Digits in the picture')).toBeFocused()
  await expect(page.getByLabel('Digits in the picture')).toHaveValue('')
  await expect(page.getByLabel('Password', { exact: true })).toHaveValue(PASSWORD)
})

test('who cannot see the picture answers a question in words, by keyboard alone', async () => {
  await page.keyboard.press('Tab')
  await expect(page.getByRole('button', { name: 'Answer a question instead', exact: false })).toBeFocused()
  await page.keyboard.press('Enter')
  const field = page.getByLabel(/^What /)
  await expect(field).toBeFocused()
  await expect(page.getByRole('img', { name: 'A picture with five digits' })).toHaveCount(0)
  await expect(field).toHaveAccessibleDescription('Answer with a number, in digits.')
  await lookAt(page, 'auth-captcha-question')
  // Refused, they are asked another question: a picture would be of no use to them.
  await field.fill('999')
  await page.keyboard.press('Enter')
  await expect(field).toHaveValue('')
  await expect(field).toBeFocused()
  await page.getByRole('button', { name: 'Another question' }).click()
  await expect(field).toBeFocused()
  const question = await page.locator('label', { hasText: /^What / }).innerText()
  await field.fill(sumOf(question))
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(/model-endpoints/)
})

test('the question is in the language of the page', async ({ browser }) => {
  const other = await browser.newContext({ baseURL: gateway.origin, extraHTTPHeaders: FROM_ELSEWHERE })
  const elsewhere = await other.newPage()
  // The network is known by two wrong passwords on another name; leaving the e-mail field is enough to be asked.
  for (let n = 0; n < 2; n++) {
    await other.request.post('/gateway/api/account/login', { data: loginBody('no@example.org', WRONG) })
  }
  await elsewhere.goto('/auth')
  await elsewhere.getByLabel('Email').fill('no@example.org')
  await elsewhere.getByLabel('Password', { exact: true }).focus()
  await expect(elsewhere.getByLabel('Digits in the picture')).toBeVisible()
  await expect(elsewhere.getByLabel('Password', { exact: true })).toBeFocused()
  await elsewhere.getByRole('button', { name: 'Answer a question instead', exact: false }).click()
  await elsewhere.getByRole('combobox', { name: 'Language' }).selectOption('ja')
  await expect(elsewhere.getByLabel(/[一二三四五六七八九十].*？$/)).toBeVisible()
  await elsewhere.getByLabel('メールアドレス').fill(EMAIL)
  await elsewhere.getByLabel('メールアドレス').blur()
  await expect(elsewhere.getByLabel(/？$/)).toHaveCount(0)
  await other.close()
})

test('a captcha service shows its own box, under a policy that names it on this page alone', async ({
  browser,
}) => {
  const held = await startGateway({
    BERTH_CAPTCHA: 'turnstile',
    BERTH_CAPTCHA_SITE_KEY: 'site-key',
    BERTH_CAPTCHA_SECRET: 'no-secret',
  })
  const other = await browser.newContext({ baseURL: held.origin })
  try {
    await signUp(held, IRIS)
    const elsewhere = await other.newPage()
    const violations: string[] = []
    elsewhere.on('console', message => {
      if (/Content Security Policy/i.test(message.text())) violations.push(message.text())
    })
    const sent: Record<string, unknown>[] = []
    elsewhere.on('request', request => {
      if (request.url().endsWith('/account/login')) sent.push(request.postDataJSON())
    })
    // The service itself is not asked: a script of the same shape stands in for it, at its own address.
    await elsewhere.route('https://challenges.cloudflare.com/**', route =>
      route.fulfill({ contentType: 'text/javascript', body: FAKE_SERVICE }),
    )
    await elsewhere.goto('/auth')
    await elsewhere.getByLabel('Email').fill(EMAIL)
    for (const tries of ['4', '3']) {
      await elsewhere.getByLabel('Password', { exact: true }).fill(WRONG)
      await elsewhere.getByRole('button', { name: 'Log in', exact: true }).click()
      await expect(elsewhere.getByText(`${tries} tries are left`, { exact: false })).toBeVisible()
    }
    await elsewhere.getByRole('button', { name: 'I am a person: site-key' }).click()
    await elsewhere.getByRole('button', { name: 'Log in', exact: true }).click()
    // The secret is none of the service's, or the service is out of reach: either way nobody gets past it.
    await expect(
      elsewhere.getByText('The check that you are a person does not answer right now', { exact: false }),
    ).toBeVisible()
    expect(sent.at(-1)).toMatchObject({
      captchaType: 'Cloudflare Turnstile',
      captchaToken: 'token-of-the-box',
      clientSecret: '',
    })
    await expect(elsewhere.getByRole('button', { name: 'I am a person: site-key' })).toBeVisible()
    expect(violations).toEqual([])
  } finally {
    await other.close()
    await held.stop()
  }
})

/** Puts on the page what the service's script does. */
const FAKE_SERVICE = `window.turnstile = {
  render(place, options) {
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = 'I am a person: ' + options.sitekey
    button.onclick = () => options.callback('token-of-the-box')
    place.append(button)
    return 'widget'
  },
  remove() {},
}
window[new URL(document.currentScript.src).searchParams.get('onload')]()`

function loginBody(username: string, password: string) {
  return { application: 'berth-console', organization: 'berth', type: 'token', username, password }
}

async function logIn(password: string): Promise<void> {
  await page.getByLabel('Email').fill(EMAIL)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
}

/** The answer to a question in English, found as a listener would. */
function sumOf(question: string): string {
  const numbers = (question.toLowerCase().match(/[a-z-]+/g) ?? []).flatMap(word => {
    const [first = '', second = ''] = word.split('-')
    const tens = TENS.indexOf(first) + 1
    const value = tens > 0 ? tens * 10 + ONES.indexOf(second) + 1 : ONES.indexOf(first) + 1
    return value > 0 ? [value] : []
  })
  const [high = 0, low = 0] = numbers.sort((a, b) => b - a)
  return String(/minus|take/.test(question) ? high - low : high + low)
}
