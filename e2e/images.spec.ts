import { type BrowserContext, expect, type Locator, type Page } from '@playwright/test'
import { publishRow } from '../apps/gateway/test/published-image.ts'
import type { Gateway } from './gateway.ts'
import { lookAt } from './looks.ts'
import { call, isOfComputer, signUp, test, topUp, verifyAddress } from './walk.ts'
import { holdWidths } from './widths.ts'

/** Images as a guest finds them, how a machine is deployed from one, and how one's own is made. */
test.describe.configure({ mode: 'serial' })

const IMRE = { email: 'imre@example.org', password: 'Harbour-Light-7', name: 'Imre' }
/** An official image, which needs no engine and no GPU. */
const IMAGE = 'berth-base'
const MACHINE = 'imre-shell'
const MADE = 'imre-shell-base'

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

test('[R2.24] [R4.6] [R5.5] [R5.6] an owner has an image made of a running instance, from its menu, and hears what became of it', async () => {
  const token = await page.evaluate(() => localStorage.getItem('berth.token'))
  const headers = { authorization: `Bearer ${token}`, 'idempotency-key': crypto.randomUUID() }
  const machine = { name: MACHINE, region_code: 'us-west', gpu_spec_id: 'cpu', gpu_count: 1, image_id: IMAGE }
  await call(gateway.origin, 'POST', '/api/instance/', {
    headers,
    data: { ...machine, container_disk_gb: 5 },
  })
  await page.goto('/instance-list')
  await expect(page.getByRole('row', { name: new RegExp(MACHINE) }).getByText('Running')).toBeVisible()
  await page.getByRole('button', { name: `All actions of ${MACHINE}` }).click()
  await page.getByRole('menuitem', { name: 'Create image' }).click()
  const sheet = page.getByRole('dialog', { name: `Create an image of ${MACHINE}` })
  await sheet.getByRole('button', { name: 'Build image' }).click()
  await expect(sheet.getByLabel('Name')).toBeFocused()
  await sheet.getByLabel('Name').fill(MADE)
  await sheet.getByLabel('Description').fill('A shell and what was put beside it.')
  await giveCover(sheet)
  await sheet.getByRole('checkbox', { name: 'training' }).check()
  await sheet.getByLabel('README', { exact: true }).fill('# What it is\n\nA shell.\n\n```sh\nls /data\n```\n')
  await sheet.getByRole('tab', { name: 'Preview' }).click()
  await expect(sheet.getByRole('heading', { name: 'What it is' })).toBeVisible()
  await holdWidths(page, 'the sheet of an image')
  await lookAt(page, 'create-image')
  await page.reload()
  await page.getByRole('button', { name: `All actions of ${MACHINE}` }).click()
  await page.getByRole('menuitem', { name: 'Create image' }).click()
  // What was typed is there after a reload.
  await expect(sheet.getByLabel('Name')).toHaveValue(MADE)
  await expect(sheet.getByText('1200 × 600 pixels')).toBeVisible()
  await sheet.getByRole('button', { name: 'Build image' }).click()
  const made = page.getByRole('dialog', { name: MADE })
  // What makes machines of the host's own files cannot make images of them, and the sheet says so.
  await expect(made.getByText(`${MADE} could not be built`)).toBeVisible()
  await expect(made.getByText('What its instance runs on cannot make images.')).toBeVisible()
  await lookAt(page, 'image-not-built')
  await made.getByRole('button', { name: 'Close' }).last().click()
})

test('[R4.8] what could not be built waits for its owner, and is described anew', async () => {
  await page.goto('/my-images?state=needs')
  const row = page.getByRole('row', { name: new RegExp(MADE) })
  await expect(row.getByText('Build failed')).toBeVisible()
  await expect(row.getByText('not billed')).toBeVisible()
  await expectDrawn(row)
  await holdWidths(page, 'my images')
  await lookAt(page, 'my-images')
  await row.getByRole('button', { name: `All actions of ${MADE}` }).click()
  await page.getByRole('menuitem', { name: 'Edit' }).click()
  const sheet = page.getByRole('dialog', { name: `Edit ${MADE}` })
  await sheet.getByLabel('Version info').fill('Shell and core tools')
  await sheet.getByRole('button', { name: 'Save' }).click()
  await expect(row.getByText('Shell and core tools')).toBeVisible()
  await row.getByRole('link', { name: MADE }).click()
  await expect(page.getByRole('heading', { level: 2, name: 'What it is' })).toBeVisible()
  await expectDrawn(page.getByRole('main'))
  await lookAt(page, 'image-detail-own')
})

test('[R4.8] [R6.5] of what the community has a new version is begun beside it, with what was said; both are deleted', async () => {
  await publishRow(gateway.databaseUrl, new URL(page.url()).searchParams.get('id') ?? '')
  await page.goto('/my-images')
  const rows = page.getByRole('row', { name: new RegExp(MADE) })
  await expect(rows.getByText('Community', { exact: true })).toBeVisible()
  await rows.getByRole('button', { name: `All actions of ${MADE}` }).click()
  await page.getByRole('menuitem', { name: 'New version' }).click()
  const sheet = page.getByRole('dialog', { name: `New version of ${MADE}` })
  await expect(sheet.getByText('The community’s version stays and can be deployed')).toBeVisible()
  await sheet.getByText('A registry', { exact: true }).click()
  await expect(sheet.getByLabel('Image of a registry')).toBeVisible()
  await sheet.getByText('An instance', { exact: true }).click()
  await expect(sheet.getByLabel('Name')).toHaveValue(MADE)
  await expect(sheet.getByLabel('Version info')).toHaveValue('Shell and core tools')
  await sheet.getByLabel('Version info').fill('Shell, newer')
  await sheet.getByLabel('Instance', { exact: true }).click()
  await page.getByRole('option', { name: MACHINE }).click()
  await lookAt(page, 'new-version')
  await sheet.getByRole('button', { name: 'Build image' }).click()
  await expect(page.getByText(`${MADE} could not be built`)).toBeVisible()
  await page.goto('/my-images')
  await expect(rows.filter({ hasText: 'Shell, newer' }).getByText('Build failed')).toBeVisible()
  const before = rows.filter({ hasText: 'Shell and core tools' })
  await expect(before.getByText('Community', { exact: true })).toBeVisible()
  for (const row of [rows.filter({ hasText: 'Shell, newer' }), before]) {
    await row.getByRole('button', { name: `All actions of ${MADE}` }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await expect(row).toBeHidden()
  }
  await expect(page.getByText('No images yet')).toBeVisible()
})

/** Chooses no picture first, then pastes one that the browser has drawn, and one that is too small. */
async function giveCover(sheet: Locator): Promise<void> {
  const group = sheet.getByRole('group', { name: 'Cover' })
  const input = group.locator('input[type=file]')
  const script = Buffer.from('<script>alert(1)</script>')
  await input.setInputFiles({ name: 'cover.png', mimeType: 'image/png', buffer: script })
  await expect(group.getByText('A cover is a PNG, JPEG, WebP, GIF or AVIF picture')).toBeVisible()
  await group.getByRole('button', { name: 'Choose a picture' }).focus()
  await paste(2_000, 1_000)
  await expect(group.getByText('1200 × 600 pixels')).toBeVisible()
  await paste(80, 80)
  await expect(group.getByText('A cover is at least 96 pixels wide and high')).toBeVisible()
  await expectDrawn(group)
}

/** What the clipboard has when a picture was copied, given to whatever has the focus. */
async function paste(width: number, height: number): Promise<void> {
  await page.evaluate(
    async ([wide, high]) => {
      const canvas = Object.assign(document.createElement('canvas'), { width: wide, height: high })
      const context = canvas.getContext('2d')
      if (!context) throw new Error('nothing can be drawn here')
      context.fillStyle = '#0b7a75'
      context.fillRect(0, 0, wide, high)
      const blob = await new Promise<Blob | null>(resolve => canvas.toBlob(resolve))
      const clipboardData = new DataTransfer()
      clipboardData.items.add(new File([blob ?? ''], 'pasted.png', { type: 'image/png' }))
      const event = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true })
      document.activeElement?.dispatchEvent(event)
    },
    [width, height] as const,
  )
}

/** A cover is there, and the browser was allowed to draw it. */
async function expectDrawn(place: Locator): Promise<void> {
  const cover = place.locator('img[src^="/gateway/covers/"]')
  await expect(cover).toBeVisible()
  await expect.poll(() => cover.evaluate((img: HTMLImageElement) => img.naturalWidth)).toBe(1_200)
}

test('nothing went wrong in the browser on the way', () => {
  // A page that is not there is asked for, and says so.
  expect(complaints.filter(text => !text.includes('404'))).toEqual([])
})
