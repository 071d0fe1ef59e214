import { expect } from '@playwright/test'
import { PATIENCE_MS } from '../scripts/test/patience-ms.ts'
import { lookAt } from './looks.ts'
import { openSignedIn, signUp, test, topUp, verifyAddress } from './walk.ts'

const WALKER = { email: 'snapshots@example.org', password: 'Harbour-Light-7', name: 'Snapshots' }
const WAIT = { timeout: PATIENCE_MS }

test('[R1.2] [R2.25] a snapshot is taken, kept by schedule, and restored into a new volume', async ({
  browser,
  gateway,
}) => {
  await signUp(gateway, WALKER)
  await verifyAddress(gateway, WALKER.email)
  await topUp(gateway, WALKER)
  const context = await openSignedIn(browser, gateway, WALKER)
  const page = await context.newPage()
  await page.goto('/network-volume')
  await page.getByRole('button', { name: 'Create volume' }).first().click()
  const creating = page.getByRole('dialog', { name: 'Create a network volume' })
  await creating.getByLabel('Name').fill('datasets')
  await creating.getByLabel('Size').fill('10')
  await creating.getByRole('button', { name: 'Create' }).click()
  await expect(creating).toBeHidden(WAIT)
  const menu = page.getByRole('button', { name: /datasets/ }).last()
  await expect(page.getByText('Ready', { exact: true })).toBeVisible(WAIT)
  await menu.click()
  await page.getByRole('menuitem', { name: /^Snapshots/ }).click()
  const dialog = page.getByRole('dialog', { name: 'Snapshots of datasets' })
  await expect(dialog.getByText(/No snapshot yet/)).toBeVisible(WAIT)
  await lookAt(page, 'snapshots-none')
  await dialog.getByRole('button', { name: 'Take snapshot' }).click()
  const restore = dialog.getByRole('button', { name: /^Restore the snapshot of/ })
  await expect(restore).toBeVisible(WAIT)
  await dialog.getByLabel('Taken').click()
  await page.getByRole('option', { name: 'every week' }).click()
  await expect(dialog.getByText(/Up to 7 of about 10 GB/)).toBeVisible()
  await dialog.getByRole('button', { name: 'Save schedule' }).click()
  await expect(dialog.getByText(/^Next one:/)).toBeVisible(WAIT)
  await lookAt(page, 'snapshots')
  await restore.click()
  const form = page.getByRole('dialog', { name: 'Restore into a new volume' })
  await form.getByLabel('Name').fill('back')
  await lookAt(page, 'snapshot-restore')
  await form.getByRole('button', { name: 'Restore' }).click()
  await expect(form).toBeHidden(WAIT)
  await page.keyboard.press('Escape')
  await expect(page.getByText('Ready', { exact: true })).toHaveCount(2, WAIT)
  await context.close()
})
