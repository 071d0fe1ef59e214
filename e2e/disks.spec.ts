import { expect } from '@playwright/test'
import { PATIENCE_MS } from '../scripts/test/patience-ms.ts'
import { lookAt } from './looks.ts'
import { openSignedIn, signUp, test, topUp, verifyAddress } from './walk.ts'

const WALKER = { email: 'disks@example.org', password: 'Harbour-Light-7', name: 'Disks' }

const PHONE = { width: 390, height: 844 }

/** A pod is given a volume of its own in the form, on a phone; its price and the instance's page name it. */
test('[R3.5] [R4.7] the form gives a pod a volume of its own, says what is wrong with it, and what it costs', async ({
  browser,
  gateway,
}) => {
  await signUp(gateway, WALKER)
  await verifyAddress(gateway, WALKER.email)
  await topUp(gateway, WALKER)
  const context = await openSignedIn(browser, gateway, WALKER, { viewport: PHONE })
  const page = await context.newPage()
  await page.goto('/explore')
  await page.getByRole('radio', { name: /CPU only/ }).check({ force: true })
  await page.getByLabel('Name').fill('with-a-volume')
  await page.getByText('Storage', { exact: true }).click()
  const size = page.getByLabel('Pod volume', { exact: true })
  await expect(page.getByLabel('Path of the volume')).toHaveCount(0)
  await size.fill('0')
  await page.getByRole('button', { name: 'Deploy', exact: true }).click()
  await expect(size).toHaveAttribute('aria-invalid', 'true')
  await size.fill('50')
  const path = page.getByLabel('Path of the volume')
  await expect(path).toHaveValue('/workspace')
  await path.fill('/etc/x')
  await page.getByRole('button', { name: 'Deploy', exact: true }).click()
  await expect(page.getByText('This folder belongs to the system')).toBeVisible()
  await expect(path).toBeFocused()
  await path.fill('/work')
  await expect(page.getByText('Pod volume, 50 GB')).toBeVisible()
  // 50 GB at 0.00014 an hour; the first disk is within its free part.
  await expect(page.getByText(/stopped \$0\.1680 \/day/)).toBeVisible()
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390)
  await lookAt(page, 'deploy-pod-volume')
  await page.getByRole('button', { name: 'Deploy', exact: true }).click()
  await expect(page).toHaveURL(/instance-list/, { timeout: PATIENCE_MS })
  await page.getByRole('link', { name: 'with-a-volume' }).first().click()
  await expect(page.getByText('50 GB pod volume at /work')).toBeVisible({ timeout: PATIENCE_MS })
  await page.setViewportSize(PHONE)
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390)
  await lookAt(page, 'instance-pod-volume')
  await context.close()
})
