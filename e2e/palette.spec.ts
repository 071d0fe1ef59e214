import { type BrowserContext, expect, type Page } from '@playwright/test'
import { lookAt } from './looks.ts'
import { openSignedIn, signUp, test, topUp, verifyAddress } from './walk.ts'

/** The command palette and the shortcuts, as somebody uses them whose hands stay on the keyboard. */
test.describe.configure({ mode: 'serial' })

const MACHINE = 'llama-finetune'
const KEYA = { email: 'keya@example.org', password: 'Harbour-Light-7', name: 'Keya' }

let context: BrowserContext
let page: Page
/** What the browser complains about, such as a style that the content policy refuses. */
const complaints: string[] = []

test.beforeAll(async ({ browser, gateway }) => {
  await signUp(gateway, KEYA)
  await verifyAddress(gateway, KEYA.email)
  await topUp(gateway, KEYA)
  context = await openSignedIn(browser, gateway, KEYA)
  context.on('console', message => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  page = await context.newPage()
  await page.goto('/instance-list')
  await expect(page.getByRole('heading', { name: 'Instances' })).toBeVisible()
})

test.afterAll(async () => {
  await context?.close()
})

test('a machine is deployed, for the palette to find', async () => {
  await page.keyboard.press('g')
  await page.keyboard.press('e')
  await expect(page).toHaveURL(/explore/)
  await page.getByRole('radio', { name: /CPU only/ }).check({ force: true })
  await page.getByLabel('Name').fill(MACHINE)
  await page.getByRole('button', { name: 'Deploy', exact: true }).click()
  await expect(page).toHaveURL(/instance-list/)
  await expect(page.getByRole('row', { name: new RegExp(MACHINE) })).toContainText('Running')
})

test('the palette opens by Ctrl+K, narrows as one types, and goes where it is told', async () => {
  await openPalette()
  await expect(options()).not.toHaveCount(0)
  await lookAt(page, 'palette')
  const before = await options().count()
  await field().fill('expl')
  await expect(options().first()).toContainText('Explore')
  expect(await options().count()).toBeLessThan(before)
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(/explore/)
  await expect(palette()).toBeHidden()
})

test('the field names the row that Enter would choose, and the arrows move it around the list', async () => {
  await openPalette()
  const active = () => page.locator(`[id="${activeId}"]`)
  let activeId = ''
  const read = async () => {
    activeId = (await field().getAttribute('aria-activedescendant')) ?? ''
    await expect(active()).toHaveAttribute('aria-selected', 'true')
    return active().innerText()
  }
  const first = await read()
  await page.keyboard.press('ArrowDown')
  const second = await read()
  expect(second).not.toBe(first)
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('ArrowUp')
  expect(await read()).toContain('Log out')
  await page.keyboard.press('ArrowDown')
  expect(await read()).toBe(first)
  await page.keyboard.press('Escape')
  await expect(palette()).toBeHidden()
})

test('what nobody has says so', async () => {
  await openPalette()
  await field().fill('zzz-nothing')
  await expect(page.getByText('Nothing goes by that name')).toBeVisible()
  await expect(options()).toHaveCount(0)
  await page.keyboard.press('Enter')
  await expect(palette()).toBeVisible()
  await lookAt(page, 'palette-nothing')
  await page.keyboard.press('Control+k')
  await expect(palette()).toBeHidden()
})

test('an instance is found by name and by id, and leads on to what it allows now', async () => {
  await page.goto('/payments')
  const id = await instanceId()
  await openPalette()
  await field().fill(id)
  await expect(options().first()).toContainText(MACHINE)
  await field().fill('llama-f')
  await expect(options().first()).toContainText(MACHINE)
  await page.keyboard.press('Enter')
  for (const name of ['Show in the list', 'Open the terminal', 'Connect', 'Stop', 'Restart']) {
    await expect(page.getByRole('option', { name, exact: true })).toBeVisible()
  }
  await expect(page.getByRole('option', { name: 'Start', exact: true })).toHaveCount(0)
  await lookAt(page, 'palette-instance')
  await page.keyboard.press('Shift+Tab')
  await expect(page.getByRole('button', { name: 'Back to everything' })).toBeFocused()
  for (const key of ['?', 'g', 's']) await page.keyboard.press(key)
  await expect(page.getByRole('dialog')).toHaveCount(1)
  await expect(page).toHaveURL(/payments/)
  await page.keyboard.press('Tab')
  await page.keyboard.press('Backspace')
  await expect(page.getByRole('option', { name: /Payments/ })).toBeVisible()
  await field().fill('llama-f')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(new RegExp(`instance-list\\?q=${id}`))
  await expect(page.getByRole('searchbox')).toHaveValue(id)
})

test('[R2.23] the terminal opens in a tab of its own', async () => {
  await openPalette()
  await field().fill('terminal llama')
  // Its machines come a moment after the palette is there.
  await expect(options().first()).toContainText(MACHINE)
  const [tab] = await Promise.all([context.waitForEvent('page'), page.keyboard.press('Enter')])
  await expect(tab).toHaveURL(new RegExp(`/terminal\\?instance=${await instanceId()}`))
  await tab.close()
})

test('[R2.23] connect opens the dialog of the list, and the address forgets it', async () => {
  await page.goto('/payments')
  await openPalette()
  await field().fill('connect llama')
  // Its machines come a moment after the palette is there.
  await expect(options().first()).toContainText(MACHINE)
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(/\/instance-list$/)
  // By name: the palette is a dialog too, which holds the machine's name and is on its way out.
  const dialog = page.getByRole('dialog', { name: `Connect to ${MACHINE}` })
  await expect(dialog).toBeVisible()
  await page.keyboard.press('Escape')
  await expect(dialog).toBeHidden()
  await page.reload()
  await expect(page.getByRole('row', { name: new RegExp(MACHINE) })).toBeVisible()
  await expect(dialog).toHaveCount(0)
})

test('[R2.24] [R4.5] stop asks with the list’s own dialog; then only start is offered', async () => {
  await openPalette()
  await field().fill('stop llama')
  // Its machines come a moment after the palette is there.
  await expect(options().first()).toContainText(MACHINE)
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog', { name: `Stop ${MACHINE}?` })
  await expect(dialog).toContainText('/day')
  await dialog.getByRole('button', { name: 'Stop' }).click()
  await expect(dialog).toBeHidden()
  await expect(page.getByRole('row', { name: new RegExp(MACHINE) })).toContainText('Stopped')
  await openPalette()
  await field().fill('llama')
  await expect(page.getByRole('option', { name: /^Start/ })).toBeVisible()
  for (const name of [/^Stop /, /^Restart/, /^Connect/, /terminal/]) {
    await expect(page.getByRole('option', { name })).toHaveCount(0)
  }
  await page.keyboard.press('Escape')
})

test('an address that asks for what is not allowed, or for another’s instance, opens nothing and says why', async () => {
  await page.goto(`/instance-list?dialog=restart&instance=${await instanceId()}`)
  await expect(page.getByText(/Only while the instance is running/)).toBeVisible()
  await expect(page.getByRole('dialog')).toHaveCount(0)
  await page.goto('/instance-list?dialog=terminate&instance=i-nobodys')
  await expect(page.getByText('Requested resource does not exist')).toBeVisible()
  await expect(page).toHaveURL(/\/instance-list$/)
})

test('commands: theme, language, top up, account id, log out with its question', async () => {
  const run = async (text: string) => {
    await openPalette()
    await field().fill(text)
    await page.keyboard.press('Enter')
  }
  const root = page.locator('html')
  await run('dark theme')
  await expect(root).toHaveAttribute('data-mantine-color-scheme', 'dark')
  await run('light theme')
  await expect(root).toHaveAttribute('data-mantine-color-scheme', 'light')
  await run('korean 한국어')
  await expect(root).toHaveAttribute('lang', 'en')
  await page.keyboard.press('Escape')
  await run('한국어')
  await expect(root).toHaveAttribute('lang', 'ko')
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill('english')
  await page.keyboard.press('Enter')
  await expect(root).toHaveAttribute('lang', 'en')
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await run('copy the acc')
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toMatch(/^1\d+$/)
  await run('top up')
  await expect(page).toHaveURL(/payments\?topup=open/)
  await page.goto('/payments')
  await run('log out')
  const dialog = page.getByRole('dialog', { name: 'Log out?' })
  await expect(dialog.getByRole('button', { name: 'Log out' })).toBeFocused()
  await page.keyboard.press('Escape')
  await expect(dialog).toBeHidden()
  const search = page.getByRole('button', { name: 'Search or run a command' })
  await search.focus()
  await run('keyboard')
  await expect(page.getByRole('dialog', { name: 'Keyboard shortcuts' })).toBeVisible()
  await page.keyboard.press('Escape')
  await expect(search).toBeFocused()
})

test('the sheet of shortcuts opens by ?, and every one in it works', async () => {
  await page.keyboard.press('?')
  const sheet = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
  await expect(sheet.getByText('Go to Payments')).toBeVisible()
  await lookAt(page, 'shortcuts')
  await page.keyboard.press('Escape')
  await expect(sheet).toBeHidden()
  for (const [key, path] of [
    ['i', 'instance-list'],
    ['e', 'explore'],
    ['p', 'payments'],
  ] as const) {
    await goBy(key)
    await expect(page).toHaveURL(new RegExp(path))
  }
  // Every list can be searched by the same key.
  for (const [key, title] of [
    ['p', 'Payments'],
    ['i', 'Instances'],
  ] as const) {
    await goBy(key)
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(title)
    await expect(page.getByRole('searchbox')).toBeVisible()
    await page.keyboard.press('/')
    await expect(page.getByRole('searchbox')).toBeFocused()
    await page.getByRole('searchbox').blur()
  }
  await page.keyboard.press('/')
  await expect(page.getByRole('searchbox')).toHaveValue('')
  await page.keyboard.type('?[gp')
  await expect(page.getByRole('searchbox')).toHaveValue('?[gp')
  await expect(sheet).toBeHidden()
  await expect(page).toHaveURL(/instance-list/)
  await page.getByRole('searchbox').fill('')
  await page.getByRole('searchbox').blur()
  const drawer = page.getByRole('navigation', { name: 'Pages' })
  await page.keyboard.press('[')
  await expect.poll(async () => (await drawer.boundingBox())?.width).toBe(64)
  await page.keyboard.press('[')
  await expect.poll(async () => (await drawer.boundingBox())?.width).toBe(200)
})

test('[B13] shortcuts of one key can be switched off, which is remembered; Ctrl+K stays', async () => {
  await page.getByRole('button', { name: /^Your account/ }).click()
  await page.getByRole('menuitem', { name: 'Keyboard shortcuts' }).click()
  const sheet = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
  const choice = sheet.getByRole('checkbox', { name: 'Shortcuts without Ctrl or Cmd' })
  await choice.uncheck()
  await page.keyboard.press('Escape')
  await expect(sheet).toBeHidden()
  await page.reload()
  await expect(page.getByRole('heading', { name: 'Instances' })).toBeVisible()
  for (const key of ['?', 'g', 'p', '[']) await page.keyboard.press(key)
  await openPalette()
  await expect(sheet).toHaveCount(0)
  await expect(page).toHaveURL(/instance-list/)
  await field().fill('keyboard')
  await page.keyboard.press('Enter')
  await sheet.getByRole('checkbox').check()
  await page.keyboard.press('Escape')
  await expect(sheet).toBeHidden()
  await page.keyboard.press('?')
  await expect(sheet).toBeVisible()
  await page.keyboard.press('g')
  await page.keyboard.press('p')
  await expect(page).toHaveURL(/instance-list/)
  await page.keyboard.press('Escape')
})

test('the browser had nothing to complain about', () => {
  // The browser itself reports the instance that is nobody's.
  expect(complaints.filter(text => !text.includes('status of 404'))).toEqual([])
})

const palette = () => page.getByRole('dialog', { name: 'Command palette' })
const field = () => palette().getByRole('combobox')
const options = () => palette().getByRole('option')

/** Goes to a page by `g` and its key: sent in one, since a second key that comes late is one of its own. */
async function goBy(key: string): Promise<void> {
  await Promise.all([page.keyboard.press('g'), page.keyboard.press(key)])
}

async function openPalette(): Promise<void> {
  // The shell listens from the moment it is there.
  await expect(page.getByRole('banner').first()).toBeVisible()
  await page.keyboard.press('Control+k')
  await expect(field()).toBeFocused()
}

async function instanceId(): Promise<string> {
  const answer = await page.evaluate(async () => {
    const headers = { authorization: `Bearer ${localStorage.getItem('berth.token')}` }
    return (await fetch('/gateway/api/instance/', { headers })).json()
  })
  return answer.data.find((one: { name: string }) => one.name === MACHINE).instance_id
}
