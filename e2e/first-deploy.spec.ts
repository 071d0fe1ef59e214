import { type BrowserContext, expect, type Page } from '@playwright/test'
import type { Gateway } from './gateway.ts'
import { lookAt } from './looks.ts'
import { isOfComputer, test } from './walk.ts'
import { holdWidths } from './widths.ts'

/**
 * The whole path, walked as a stranger walks it: sign up, confirm the mail, top up, deploy a machine, type in
 * its shell, open one of its ports, and see to the cent what it cost.
 */
test.describe.configure({ mode: 'serial' })

const EMAIL = 'mira@example.org'
const PASSWORD = 'Harbour-Light-7'
const MACHINE = 'llama-finetune'
/** What a page draws at the very least while a million lines go by. */
const FRAMES_OF_A_FLOOD_MIN = 10
/** Perl is in every Debian base system, so the sandbox's userland has it. */
const SERVICE = [
  'use IO::Socket::INET;',
  '$s=IO::Socket::INET->new(LocalAddr=>"0.0.0.0",LocalPort=>8080,Listen=>9,ReuseAddr=>1) or die;',
  'while($c=$s->accept){sysread($c,$_,4096);',
  '$b="<title>mine</title><h1>served from the machine</h1>";',
  'print $c "HTTP/1.1 200 OK\\r\\ncontent-type: text/html\\r\\ncontent-length: ".length($b)."\\r\\nconnection: close\\r\\n\\r\\n$b";close $c}',
].join('')

let gateway: Gateway
let context: BrowserContext
let page: Page
/** Anything that the browser complains about: a healthy console says nothing. */
const complaints: string[] = []

test.beforeAll(async ({ browser, gateway: shared }) => {
  gateway = shared
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

test('[R2.6] a guest is sent to sign in, and the address keeps where they wanted to go', async () => {
  await page.goto('/payments?type=usage')
  await expect(page).toHaveURL(/\/auth\?redirect=%2Fpayments%3Ftype%3Dusage/)
  await expect(page.getByRole('heading', { name: 'Log in' })).toBeVisible()
  await lookAt(page, 'auth-login')
})

test('[R5.1] [R5.2] [R5.3] the sign-up form names what is wrong at the field and keeps what was typed', async () => {
  await page.goto('/auth?mode=signup')
  await page.getByLabel('Username').fill('Mira 🚢')
  await page.getByLabel('Email').fill('mira@')
  await page.getByLabel('Password', { exact: true }).fill('weak')
  await page.getByLabel('Password, once more').fill('other')
  await page.getByRole('button', { name: 'Create account' }).click()
  await expect(page.getByText('A username cannot contain emoji')).toBeVisible()
  await expect(page.getByText('Please enter a valid email')).toBeVisible()
  await expect(page.getByText('Please agree to the terms to sign up')).toBeVisible()
  await expect(page.getByLabel('Username')).toBeFocused()
  await expect(page.getByLabel('Username')).toHaveValue('Mira 🚢')
  await lookAt(page, 'auth-signup-errors')
})

test('[R1.8] [R4.1] [R2.16] signing up signs in, and a banner asks to activate', async () => {
  await page.getByLabel('Username').fill('Mira')
  await page.getByLabel('Email').fill(EMAIL)
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.getByLabel('Password, once more').fill(PASSWORD)
  await page.getByLabel('I agree to the terms of use').check()
  await page.getByRole('button', { name: 'Create account' }).click()
  // The mail has just gone out, so there is nothing to ask for yet.
  await expect(page.getByRole('button', { name: /^Send again in \d+ s/ })).toBeDisabled()
  await expect(page).toHaveURL(/model-endpoints/)
  await lookAt(page, 'unverified')
})

test('[R2.5] [R4.2] [R6.3] until then, what costs money is off on every page and says why', async () => {
  for (const [path, action] of [
    ['/explore', 'Deploy'],
    ['/payments', 'Top up'],
  ] as const) {
    await page.goto(path)
    await expect(page.getByRole('button', { name: /Activate now|Send again/ })).toBeVisible()
    const button = page.getByRole('main').getByRole('button', { name: action, exact: true })
    await expect(button).toHaveAttribute('aria-disabled', 'true')
    // What is still loading may move the button away from under the pointer, which then has to come again.
    await expect(async () => {
      await page.mouse.move(0, 0)
      await button.hover()
      await expect(page.getByRole('tooltip')).toHaveText(
        'The account is not activated. You can operate it after successful activation.',
        { timeout: 5_000 },
      )
    }).toPass({ timeout: 60_000 })
  }
})

test('[R2.2] the mail in the local mailbox activates the account', async () => {
  await page.goto('/mailbox')
  await expect(page.getByText(EMAIL).first()).toBeVisible()
  await lookAt(page, 'mailbox')
  await page
    .getByRole('link', { name: /activty\?token=/ })
    .first()
    .click()
  await expect(page.getByText('Your account is activated')).toBeVisible()
  await lookAt(page, 'activated')
  // The link is spent, and all is well all the same.
  await page.reload()
  await expect(page.getByText('Your account is activated')).toBeVisible()
  await page
    .getByRole('link', { name: 'Continue' })
    .or(page.getByRole('button', { name: 'Continue', exact: true }))
    .click()
  await expect(page).toHaveURL(/\/model-endpoints$/)
  await page.goto('/instance-list')
  await expect(page.getByText('No instances', { exact: true })).toBeVisible()
  await expect(page.getByRole('button', { name: /Activate now/ })).toHaveCount(0)
})

test('[R2.21] [R2.22] [R5.8] [R8.1] a refused card says why and loses nothing; a good one pays once', async () => {
  await page.goto('/explore')
  // Where the balance does not cover a machine, the way to more stands there.
  await expect(page.getByText('The balance does not cover the first hour')).toBeVisible()
  await page.getByRole('main').getByRole('link', { name: 'Top up' }).click()
  const dialog = page.getByRole('dialog', { name: 'Add credits' })
  await expect(dialog.getByLabel('Amount in USD')).toBeFocused()
  await dialog.getByLabel('Amount in USD').fill('nothing')
  await dialog.getByLabel('Card number').fill('4000 0000 0000 9995')
  await dialog.getByRole('button', { name: 'Pay now' }).click()
  await expect(dialog.getByText('Invalid amount')).toBeVisible()
  await dialog.getByLabel('Amount in USD').fill('29.999')
  await dialog.getByRole('button', { name: 'Pay $30.00 now' }).click()
  await expect(dialog.getByText('The card was declined: not enough money on it.')).toBeVisible()
  await expect(dialog.getByLabel('Amount in USD')).toHaveValue('29.999')
  await lookAt(page, 'topup-declined')
  await dialog.getByLabel('Card number').fill('4242 4242 4242 4242')
  await dialog.getByRole('button', { name: 'Pay $30.00 now' }).click()
  const toast = page.getByText('$30.00 was added to your balance.')
  await expect(toast).toBeVisible()
  // It leaves by itself, so it is asked for its place while it is there; how long it stays is Toasts.test.tsx's.
  expect((await toast.boundingBox())?.y).toBeLessThan(120)
  await expect(dialog).toBeHidden()
  await expect(page.getByRole('banner').getByText('$30.00')).toBeVisible()
  await expect(toast).toBeHidden()
  // Of the list alone: what is paid has an invoice in another table of the page.
  const list = page.getByRole('table', { name: 'Transactions' })
  await expect(list.getByRole('row', { name: /Visa ending 4242/ })).toContainText('+$30.00')
  await expect(list.getByRole('row', { name: /Top-up/ })).toHaveCount(2)
  await lookAt(page, 'payments')
})

test('[R1.1] [B7] [R5.4] deploying shows its price and its checks, then the list', async () => {
  await page.goto('/explore')
  await page.getByRole('radio', { name: /CPU only/ }).check({ force: true })
  await expect(page.getByText('Balance covers the first hour')).toBeVisible()
  await expect(page.getByText('$0.0800 /h').first()).toBeVisible()
  await page.getByLabel('Name').fill('not a name')
  await page.getByRole('button', { name: 'Deploy', exact: true }).click()
  await expect(page.getByText('Only letters, digits, hyphens and underscores')).toBeVisible()
  await page.getByLabel('Name').fill(MACHINE)
  await lookAt(page, 'explore')
  await page.getByText('the image’s own command').click()
  await page
    .getByLabel('Start command', { exact: true })
    .fill(`[ -e ~/served ] && exit 3; touch ~/served; perl -e '${SERVICE}'`)
  await page.getByRole('button', { name: 'Deploy', exact: true }).click()
  await expect(page).toHaveURL(/instance-list/)
  await expect(page.getByRole('row', { name: new RegExp(MACHINE) })).toContainText('Running')
  await lookAt(page, 'instances')
})

test('[R2.23] [B1] [B9] the shell in the browser is the machine’s own, and outlives a reload', async () => {
  await page
    .getByRole('row', { name: new RegExp(MACHINE) })
    .getByRole('button', { name: /^Connect/ })
    .click()
  const dialog = page.getByRole('dialog', { name: `Connect to ${MACHINE}` })
  await expect(dialog.getByText('Port 8080')).toBeVisible()
  await expect(dialog.getByText('listening', { exact: true })).toBeVisible()
  await lookAt(page, 'connect')
  const opened = context.waitForEvent('page')
  await dialog
    .getByRole('link', { name: 'Open terminal' })
    .or(dialog.getByRole('button', { name: 'Open terminal' }))
    .click()
  const terminal = await opened
  await typeInShell(terminal, 'echo "sum $((6*7)) on $(hostname) as $$" && ls -A / | wc -l')
  await expect.poll(() => screenOf(terminal)).toMatch(new RegExp(`sum 42 on ${MACHINE} as \\d+`))
  const shell = /as (\d+)/.exec(await screenOf(terminal))?.[1]
  await lookAt(terminal, 'terminal')
  await terminal.reload()
  await expect.poll(() => screenOf(terminal)).toContain(`as ${shell}`)
  await typeInShell(terminal, 'echo "still $$"')
  await expect.poll(() => screenOf(terminal)).toContain(`still ${shell}`)
  await terminal.close()
})

test('[R2.23] [B9] several shells stand in tabs: each goes on by itself, all outlive a reload, one is closed alone', async () => {
  const terminal = await context.newPage()
  await terminal.goto('/instance-list')
  await terminal
    .getByRole('row', { name: new RegExp(MACHINE) })
    .getByRole('button', { name: /^Connect/ })
    .click()
  const link = terminal.getByRole('dialog').getByRole('link', { name: 'Open terminal' })
  await terminal.goto((await link.getAttribute('href')) ?? '')
  const tab = (number: number) => terminal.getByRole('tab', { name: `Shell ${number}` })
  const pidOf = async (word: string) => {
    await typeInShell(terminal, `echo "${word} is $$"`)
    await expect.poll(() => screenOf(terminal)).toMatch(new RegExp(`${word} is \\d+`))
    return new RegExp(`${word} is (\\d+)`).exec(await screenOf(terminal))?.[1]
  }
  const first = await pidOf('first')
  await terminal.getByRole('button', { name: 'Open another shell' }).click()
  await expect(terminal).toHaveURL(/&shell=2$/)
  await expect(tab(2)).toHaveAttribute('aria-selected', 'true')
  const second = await pidOf('second')
  expect(second).not.toBe(first)
  expect(await screenOf(terminal)).not.toContain('first is')
  await typeInShell(terminal, 'for i in 1 2 3; do sleep 1; echo "line $i"; done')
  // By arrows, which leave the focus on the tabs.
  await tab(2).focus()
  await terminal.keyboard.press('ArrowLeft')
  await expect(tab(1)).toBeFocused()
  await expect.poll(() => screenOf(terminal)).toContain(`first is ${first}`)
  expect(await screenOf(terminal)).not.toContain('second is')
  await lookAt(terminal, 'terminal-shells')
  await holdWidths(terminal, 'terminal-shells')
  await tab(2).click()
  await expect.poll(() => screenOf(terminal)).toMatch(/second is \d+[\s\S]*line 3/)
  await terminal.reload()
  await expect.poll(() => screenOf(terminal)).toContain(`second is ${second}`)
  await tab(1).click()
  await expect.poll(() => screenOf(terminal)).toContain(`first is ${first}`)
  await tab(2).click()
  await terminal.getByRole('button', { name: 'Close shell 2' }).click()
  const dialog = terminal.getByRole('dialog', { name: 'Close shell 2?' })
  await expect(dialog.getByText('The shell ends, and with it what runs in it.')).toBeVisible()
  await dialog.getByRole('button', { name: 'Close shell', exact: true }).click()
  await expect(tab(2)).toHaveCount(0)
  await expect(terminal).not.toHaveURL(/shell=/)
  expect(await pidOf('still')).toBe(first)
  // Another one is a new one.
  await terminal.getByRole('button', { name: 'Open another shell' }).click()
  expect(await pidOf('fresh')).not.toBe(second)
  await terminal.close()
})

test('[B1] a flood of output neither freezes the page nor loses its end', async () => {
  const terminal = await context.newPage()
  await terminal.goto('/instance-list')
  await terminal
    .getByRole('row', { name: new RegExp(MACHINE) })
    .getByRole('button', { name: /^Connect/ })
    .click()
  const opened = context.waitForEvent('page')
  const dialog = terminal.getByRole('dialog')
  await dialog
    .getByRole('link', { name: 'Open terminal' })
    .or(dialog.getByRole('button', { name: 'Open terminal' }))
    .click()
  const flooded = await opened
  const frames = await flooded.evaluateHandle(() => {
    const drawn = { count: 0 }
    const count = () => {
      drawn.count += 1
      requestAnimationFrame(count)
    }
    requestAnimationFrame(count)
    return drawn
  })
  const before = await frames.evaluate(({ count }) => count)
  await typeInShell(flooded, 'seq 1 1000000; echo "the end"')
  await expect.poll(() => screenOf(flooded), { timeout: 60_000 }).toMatch(/1000000\s+the end/)
  // A frozen page draws none of these; how many there are hangs on the machine, but never so few.
  expect((await frames.evaluate(({ count }) => count)) - before).toBeGreaterThan(FRAMES_OF_A_FLOOD_MIN)
  await flooded.close()
  await terminal.close()
})

test('[R2.23] [B1] its port opens on an origin of its own, out of reach of the console’s storage', async () => {
  const dialog = page.getByRole('dialog', { name: `Connect to ${MACHINE}` })
  const opened = context.waitForEvent('page')
  await dialog.getByRole('link', { name: 'Open port 8080 in a new tab' }).click()
  const service = await opened
  await expect(service.getByRole('heading', { name: 'served from the machine' })).toBeVisible()
  expect(new URL(service.url()).hostname).toMatch(/^[a-z0-9]{20}-8080\.localhost$/)
  expect(await service.evaluate(() => localStorage.length)).toBe(0)
  expect(await service.evaluate(() => document.cookie)).toBe('')
  expect(await service.evaluate(() => window.opener)).toBeNull()
  await service.close()
  await page.keyboard.press('Escape')
})

test('[R2.4] [R4.5] [B9] its name leads to its page: how it does, what it costs, how it is reached', async () => {
  await row().getByRole('link', { name: MACHINE }).click()
  await expect(page).toHaveURL(/\/instance\?id=i-/)
  await expect(page).toHaveTitle(new RegExp(MACHINE))
  const main = page.getByRole('main')
  await expect(main.getByRole('heading', { level: 1, name: MACHINE })).toBeVisible()
  await expect(main.getByText('Ready, the meter starts')).toBeVisible()
  await expect(main.getByText('Port 8080')).toBeVisible()
  await expect(main.getByRole('link', { name: 'Receipt' })).toBeVisible()
  // Its log is followed, and what it uses is drawn.
  await expect(main.getByText(/^berth: starting/)).toBeVisible()
  await expect(main.getByRole('region', { name: 'Memory' }).getByText(/^of .* GB$/)).toBeVisible()
  await lookAt(page, 'instance')
  await main.getByRole('button', { name: 'As a table' }).click()
  await expect(main.getByRole('columnheader', { name: 'Memory' })).toBeVisible()
  await main.getByRole('link', { name: 'Instances' }).click()
  await expect(row()).toContainText('Running')
})

test('[R4.5] [R2.24] stopping asks, says what the disk costs, and keeps the machine', async () => {
  const lefts = () =>
    page.getByRole('columnheader').evaluateAll(all => all.map(cell => cell.getBoundingClientRect().left))
  const columns = await lefts()
  await chooseAction('Stop')
  const dialog = page.getByRole('dialog', { name: `Stop ${MACHINE}?` })
  await expect(dialog.getByText(/Its disk of 20 GB stays/)).toBeVisible()
  await lookAt(page, 'stop')
  await dialog.getByRole('button', { name: 'Stop', exact: true }).click()
  await expect(row()).toContainText('Stopped')
  await expect(row()).toContainText(/deleted on .* unless started/)
  expect(await lefts(), 'columns stay where they are when a status changes').toEqual(columns)
  await lookAt(page, 'stopped')
})

test('[R2.27] [R3.10] [B2] the transaction opens to its receipt, and the cents add up', async () => {
  await page.goto('/payments')
  const usage = page.getByRole('row', { name: new RegExp(`${MACHINE}, 1× CPU only`) })
  await expect(usage).toContainText(/at \$0\.0800 \/h/)
  await usage.getByRole('button', { name: /^Receipt of/ }).click()
  const dialog = page.getByRole('dialog', { name: 'Receipt' })
  const formula = await dialog.getByText(/÷ 3600 =/).innerText()
  const [, seconds = '', due = ''] = /^([\d,]+) s × \$0\.0800 \/h ÷ 3600 = \$([\d.]+)/.exec(formula) ?? []
  const dueMicro = Math.floor((Number(seconds.replaceAll(',', '')) * 80_000) / 3_600)
  expect(Math.round(Number(due) * 1_000_000)).toBe(dueMicro)
  await expect(dialog.getByText('Ready, the meter starts')).toBeVisible()
  await expect(dialog.getByText('Stop asked for')).toBeVisible()
  await lookAt(page, 'receipt')
  await page.keyboard.press('Escape')
  const left = Math.floor((30_000_000 - dueMicro) / 10_000)
  await expect(
    page
      .getByRole('main')
      .getByText(`$${(left / 100).toFixed(2)}`)
      .first(),
  ).toBeVisible()
})

test('[R4.5] it starts again with its home, restarts, and is terminated for good', async () => {
  await page.goto('/instance-list')
  await chooseAction('Start')
  await page.getByRole('dialog').getByRole('button', { name: 'Start', exact: true }).click()
  await expect(row()).toContainText('Running')
  await chooseAction('Restart')
  const restarted = page.waitForResponse(/\/restart$/)
  await page.getByRole('dialog').getByRole('button', { name: 'Restart', exact: true }).click()
  await restarted
  // Loaded again, so that what is seen is from after the restart.
  await page.reload()
  await expect(row()).toContainText('Running')
  await expect(row()).toContainText('Command ended, code 3')
  const beyond = await row()
    .getByTitle(/^Command ended/)
    .evaluate(
      text => text.getBoundingClientRect().right - Number(text.closest('td')?.getBoundingClientRect().right),
    )
  expect(beyond, 'a long line is cut where its column ends').toBeLessThanOrEqual(0)
  await chooseAction('Log')
  await expect(page.getByText(/^berth: the start command ended with code 3$/).last()).toBeVisible()
  await lookAt(page, 'log')
  await page.keyboard.press('Escape')
  await chooseAction('Terminate')
  const dialog = page.getByRole('dialog', { name: `Terminate ${MACHINE}?` })
  const confirm = dialog.getByRole('button', { name: 'Terminate', exact: true })
  await expect(confirm).toBeDisabled()
  await dialog.getByRole('textbox').fill(MACHINE)
  await lookAt(page, 'terminate')
  await confirm.click()
  await expect(page.getByText('No instances', { exact: true })).toBeVisible()
})

test('the browser had nothing to complain about', () => {
  // The browser itself reports the refused card; nothing else may be there.
  expect(complaints.filter(text => !text.includes('status of 402'))).toEqual([])
})

function row() {
  return page.getByRole('row', { name: new RegExp(MACHINE) })
}

async function chooseAction(name: string): Promise<void> {
  await row()
    .getByRole('button', { name: `All actions of ${MACHINE}` })
    .click()
  await page.getByRole('menuitem', { name, exact: true }).click()
}

async function typeInShell(terminal: Page, line: string): Promise<void> {
  await expect.poll(() => screenOf(terminal)).toMatch(/[#$] *$/m)
  await terminal.getByRole('textbox').focus()
  await terminal.keyboard.type(line)
  await terminal.keyboard.press('Enter')
}

/** What the terminal shows, line by line. */
async function screenOf(terminal: Page): Promise<string> {
  const lines = await terminal.locator('.xterm-rows > div').allInnerTexts()
  return lines.map(line => line.replaceAll('\u00a0', ' ').trimEnd()).join('\n')
}
