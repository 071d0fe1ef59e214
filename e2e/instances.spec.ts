import { type BrowserContext, expect, type Page } from '@playwright/test'
import { PATIENCE_MS } from '../scripts/test/patience-ms.ts'
import { lookAt } from './looks.ts'
import { call, openSignedIn, signUp, test, topUp, verifyAddress } from './walk.ts'
import { holdWidths } from './widths.ts'

/** Instances in the list of somebody who has several: edited, and acted on together. */
test.describe.configure({ mode: 'serial' })

const WALKER = { email: 'fleet@example.org', password: 'Harbour-Light-7', name: 'Fleet' }
const NAMES = ['first', 'second']
const SOON = { timeout: PATIENCE_MS }

let context: BrowserContext
let page: Page

test.beforeAll(async ({ browser, gateway }) => {
  await signUp(gateway, WALKER)
  await verifyAddress(gateway, WALKER.email)
  await topUp(gateway, WALKER)
  context = await openSignedIn(browser, gateway, WALKER)
  const { origins } = await context.storageState()
  const authorization = `Bearer ${origins[0]?.localStorage[0]?.value}`
  for (const name of NAMES) {
    await call(gateway.origin, 'POST', '/api/instance/', {
      data: {
        ...{ name, region_code: 'us-west', gpu_spec_id: 'cpu', gpu_count: 1, container_disk_gb: 20 },
        ...{ image_id: 'berth-base', env: { SECRET: 'not told' }, secret_env: ['SECRET'] },
      },
      headers: { authorization, 'idempotency-key': crypto.randomUUID() },
    })
  }
  page = await context.newPage()
})
test.afterAll(async () => {
  await context?.close()
})

const rowOf = (name: string) => page.getByRole('row', { name: new RegExp(name) })

async function choose(name: string, action: string): Promise<void> {
  await page.getByRole('button', { name: `All actions of ${name}` }).click()
  await page.getByRole('menuitem', { name: action, exact: true }).click()
}

test('[R4.5] an instance gets another command and environment, is restarted with them, and runs them', async () => {
  await page.goto('/instance-list')
  for (const name of NAMES) await expect(rowOf(name).getByText('Running')).toBeVisible(SOON)
  await choose('first', 'Edit')
  const dialog = page.getByRole('dialog', { name: 'Edit first' })
  await dialog.getByText('Start', { exact: true }).click()
  // What nobody is told is kept unless something else is typed.
  await expect(dialog.getByLabel('Value of SECRET', { exact: true })).toHaveAttribute(
    'placeholder',
    /kept as it is/,
  )
  await dialog.getByLabel('Start command').fill('echo "$GREETING, $SECRET"; sleep 3000')
  await dialog.getByLabel('Add a variable').fill('GREETING')
  await dialog.getByLabel('Value of GREETING', { exact: true }).fill('good day')
  await dialog.getByText('Network', { exact: true }).click()
  await dialog.getByLabel('HTTP ports').fill('8080, 70000')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await expect(dialog.getByLabel('HTTP ports')).toHaveAttribute('aria-invalid', 'true')
  await dialog.getByLabel('HTTP ports').fill('8080, 9090')
  await dialog.getByLabel('Restart it now').check()
  await holdWidths(page, 'the dialog that edits an instance')
  await lookAt(page, 'instance-edit')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await expect(dialog).toBeHidden()
  await choose('first', 'Log')
  await expect(page.getByRole('dialog').getByText('good day, not told')).toBeVisible(SOON)
  await page.keyboard.press('Escape')
  await expect(rowOf('first').getByText('Running')).toBeVisible(SOON)
  await choose('first', 'Edit')
  await dialog.getByText('Network', { exact: true }).click()
  await expect(dialog.getByLabel('HTTP ports')).toHaveValue('8080, 9090')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
})

test('[R4.5] [R2.26] those that are selected are stopped together, then terminated once their number is typed', async () => {
  await page.getByLabel('Select all that are shown').first().check()
  const bar = page.getByLabel('Actions for the selected rows')
  await bar.getByRole('button', { name: /^Stop/ }).first().click()
  const asked = page.getByRole('dialog', { name: 'Stop 2 instances?' })
  await asked.getByRole('button', { name: /^Stop/ }).click()
  await expect(page.getByText('Done for all 2 instances.').first()).toBeVisible(SOON)
  await page.getByRole('button', { name: 'Close' }).last().click()
  for (const name of NAMES) await expect(rowOf(name).getByText('Stopped')).toBeVisible(SOON)
  // Whatever it was done to is selected no more.
  await page.getByLabel('Select all that are shown').first().check()
  await bar
    .getByRole('button', { name: /^Terminate/ })
    .first()
    .click()
  const sure = page.getByRole('dialog', { name: 'Terminate 2 instances?' })
  const terminate = sure.getByRole('button', { name: /^Terminate/ })
  await expect(terminate).toBeDisabled()
  await sure.getByLabel(/^Type 2/).fill('2')
  await terminate.click()
  await expect(page.getByText('Done for all 2 instances.').first()).toBeVisible(SOON)
  await page.getByRole('button', { name: 'Close' }).last().click()
  await expect(page.getByText('No instances', { exact: true })).toBeVisible(SOON)
})
