import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from '@playwright/test'
import { PATIENCE_MS } from '../scripts/test/patience-ms.ts'
import { lookAt } from './looks.ts'
import { call, openSignedIn, signUp, test, topUp, verifyAddress } from './walk.ts'

const WALKER = { email: 'filer@example.org', password: 'Harbour-Light-7', name: 'Filer' }
const BYTES = 3_000_000

/** Files that are dropped on an instance of one's own are in it, and come back as they were. */
test('[B19] files and folders that are dropped on the page of an instance are in it, and are saved as they were', async ({
  browser,
  gateway,
}) => {
  await signUp(gateway, WALKER)
  await verifyAddress(gateway, WALKER.email)
  await topUp(gateway, WALKER)
  const context = await openSignedIn(browser, gateway, WALKER)
  const { origins } = await context.storageState()
  const authorization = `Bearer ${origins[0]?.localStorage[0]?.value}`
  const { instance_id: id }: { instance_id: string } = await call(gateway.origin, 'POST', '/api/instance/', {
    data: {
      name: 'files',
      region_code: 'us-west',
      gpu_spec_id: 'cpu',
      gpu_count: 1,
      container_disk_gb: 20,
      image_id: 'berth-base',
    },
    headers: { authorization, 'idempotency-key': crypto.randomUUID() },
  })
  const page = await context.newPage()
  await page.goto(`/instance?id=${id}`)
  await page.getByRole('button', { name: 'Open files' }).click({ timeout: PATIENCE_MS })
  const card = page.getByRole('region', { name: 'Files' })
  await expect(card.getByText('Drop files and folders here to upload them.')).toBeVisible()

  const bytes = randomBytes(BYTES)
  const dropped = await page.evaluateHandle(text => {
    const data = new DataTransfer()
    const content = Uint8Array.from(atob(text), sign => sign.charCodeAt(0))
    data.items.add(new File([content], 'model weights.bin', { lastModified: 1_700_000_000_000 }))
    data.items.add(new File(['hello\n'], '漢 "notes".txt', { lastModified: 1_700_000_000_000 }))
    return data
  }, bytes.toString('base64'))
  await card.dispatchEvent('dragenter', { dataTransfer: dropped })
  await expect(card.getByText(/Drop to upload to/)).toBeVisible()
  await card.dispatchEvent('drop', { dataTransfer: dropped })
  await expect(card.getByText('2 of 2 files, 3.0 MB of 3.0 MB')).toBeVisible({ timeout: PATIENCE_MS })
  const file = card.getByRole('button', { name: 'model weights.bin', exact: true })
  await expect(file).toBeVisible({ timeout: PATIENCE_MS })
  await lookAt(page, 'instance-files')

  const [saved] = await Promise.all([page.waitForEvent('download'), file.click()])
  expect(saved.suggestedFilename()).toBe('model weights.bin')
  expect(readFileSync(await saved.path()).equals(bytes)).toBe(true)

  // The same file once more: the instance has it.
  await card.dispatchEvent('drop', { dataTransfer: dropped })
  await expect(card.getByText('Was there already').first()).toBeVisible({ timeout: PATIENCE_MS })

  // A folder of this computer, as a file manager hands it to the browser.
  const folder = mkdtempSync(join(tmpdir(), 'berth-dropped-'))
  mkdirSync(join(folder, 'photos', '2026'), { recursive: true })
  mkdirSync(join(folder, 'photos', 'empty'))
  writeFileSync(join(folder, 'photos', '2026', 'one.txt'), 'within two folders\n')
  const box = await card.boundingBox()
  const at = { x: (box?.x ?? 0) + 40, y: (box?.y ?? 0) + 60 }
  const browserOwn = await context.newCDPSession(page)
  const data = { items: [], files: [join(folder, 'photos')], dragOperationsMask: 1 }
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const) {
    await browserOwn.send('Input.dispatchDragEvent', { type, ...at, data })
  }
  await card.getByRole('button', { name: 'photos', exact: true }).click({ timeout: PATIENCE_MS })
  await expect(card.getByRole('button', { name: 'empty', exact: true })).toBeVisible({ timeout: PATIENCE_MS })
  await card.getByRole('button', { name: '2026', exact: true }).click()
  const within = card.getByRole('button', { name: 'one.txt', exact: true })
  const [fetched] = await Promise.all([page.waitForEvent('download'), within.click()])
  expect(readFileSync(await fetched.path(), 'utf8')).toBe('within two folders\n')
  rmSync(folder, { recursive: true, force: true })
  await context.close()
})
