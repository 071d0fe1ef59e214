import { type BrowserContext, expect, type Page } from '@playwright/test'
import type { Gateway } from './gateway.ts'
import { lookAt } from './looks.ts'
import { isOfComputer, signUp, test, topUp, verifyAddress } from './walk.ts'
import { holdWidths } from './widths.ts'

/** Images as a guest finds them, and how a machine is deployed from one. */
test.describe.configure({ mode: 'serial' })

const IMRE = { email: 'imre@example.org', password: 'Harbour-Light-7', name: 'Imre' }
/** An official image, which needs no engine and no GPU. */
const IMAGE = 'berth-base'

let gateway: Gateway
let context: BrowserContext
let page: Page
/** Anything that the browser complains about: a healthy console says nothing. */
const complaints: string[] = []

test.beforeAll(async ({ browser, gateway: shared }) => {
  gateway = shared
  await signUp(gateway, IMRE)
  await verifyAddress(gateway, IMRE.email)
  await topUp(gateway, IMRE)
  context = await browser.newContext({ baseURL: gateway.origin, viewport: { width: 1_440, height: 900 } })
  context.on('weberror', error => complaints.push(String(error.error())))
  context.on('console', message => {
    if (message.type() === 'error' && !isOfComputer(message.text())) complaints.push(message.text())
  })
  page = await context.newPage()
})

test.afterAll(async () => {
  await context?.close()
})

test('[R2.3] [R2.13] a guest sees the community in the same shell, with the way in and the language in the header', async () => {
  await page.goto('/community-image')
  await expect(page.getByRole('heading', { level: 1, name: 'Community images' })).toBeVisible()
  await expect(page.getByText('No community images yet')).toBeVisible()
  const header = page.getByRole('banner')
  await expect(header.getByRole('link', { name: 'Log in' })).toHaveAttribute(
    'href',
    '/auth?mode=login&redirect=%2Fcommunity-image',
  )
  await expect(header.getByRole('link', { name: 'Sign up' })).toBeVisible()
  await lookAt(page, 'community-image-guest')
  await holdWidths(page, 'the community as a guest sees it')
  await header.getByLabel('Language').selectOption('ko')
  await expect(page.getByRole('heading', { level: 1, name: '커뮤니티 이미지' })).toBeVisible()
  await header.getByLabel('언어').selectOption('en')
  await expect(page.getByRole('heading', { level: 1, name: 'Community images' })).toBeVisible()
})

test('[R2.13] on a phone a guest finds the language in the menu', async () => {
  await page.setViewportSize({ width: 320, height: 700 })
  await expect(page.getByRole('banner').getByLabel('Language')).toBeHidden()
  await page.getByRole('button', { name: 'Open the menu' }).click()
  await expect(page.getByRole('dialog').getByLabel('Language')).toBeVisible()
  await page.keyboard.press('Escape')
  await page.setViewportSize({ width: 1_440, height: 900 })
})

test('[R2.3] [R3.4] a guest reads the page of an image, and what its machine costs', async () => {
  await page.goto(`/image-detail?id=${IMAGE}`)
  await expect(page.getByRole('link', { name: 'Log in to deploy' })).toBeVisible()
  await expect(page.getByText('A day running')).toBeVisible()
  await lookAt(page, 'image-detail-guest')
  await holdWidths(page, 'the page of an image')
  await page.goto('/image-detail?id=im-nothere')
  await expect(page.getByText('There is no such image')).toBeVisible()
})

test('[R2.6] they log in to deploy, and come to the form with the image chosen', async () => {
  await page.goto(`/image-detail?id=${IMAGE}`)
  const name = (await page.getByRole('heading', { level: 1 }).textContent()) ?? ''
  await page.getByRole('link', { name: 'Log in to deploy' }).click()
  await page.getByLabel('Email').fill(IMRE.email)
  await page.getByLabel('Password', { exact: true }).fill(IMRE.password)
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
  await expect(page).toHaveURL(new RegExp(`/explore\\?image_id=${IMAGE}`))
  await expect(page.getByRole('main').getByLabel('Image', { exact: true })).toHaveValue(name)
  await expect(page.getByRole('button', { name: 'Deploy', exact: true })).toBeVisible()
})

test('nothing went wrong in the browser on the way', () => {
  // A page that is not there is asked for, and says so.
  expect(complaints.filter(text => !text.includes('404'))).toEqual([])
})
