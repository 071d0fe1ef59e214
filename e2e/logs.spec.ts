import { createReadStream } from 'node:fs'
import { expect } from '@playwright/test'
import { PATIENCE_MS } from '../scripts/test/patience-ms.ts'
import { lookAt } from './looks.ts'
import { call, openSignedIn, signUp, test, topUp, verifyAddress } from './walk.ts'

const WALKER = { email: 'logger@example.org', password: 'Harbour-Light-7', name: 'Logger' }
const LINES = 1_000_000
/** A hundred megabytes, as fast as perl writes them; the first line is long gone from the page when the last one comes. */
const COMMAND = `perl -e 'print "needle at the beginning\\n"; $l = "x" x 88; print "step $_ $l\\n" for 1 .. ${LINES}; print "that is all\\n"'; sleep 3600`
const BYTES_MIN = 95_000_000
/** What a page may have of a log: the rows that are seen with some beyond, and lines in its window. */
const ROWS_MAX = 150
const WINDOW_LINES_MAX = 10_001
const LINE_PX = 20
const HEAP_BYTES_MAX = 96 * 1024 * 1024

/** A log of a hundred megabytes is followed, scrolled, searched to its first line and saved, and the page holds little of it. */
test('[B9] a log of 100 MB is no heavier to a page than a short one, and is searched and saved whole', async ({
  browser,
  gateway,
}) => {
  test.setTimeout(300_000)
  await signUp(gateway, WALKER)
  await verifyAddress(gateway, WALKER.email)
  await topUp(gateway, WALKER)
  const context = await openSignedIn(browser, gateway, WALKER)
  const { origins } = await context.storageState()
  const authorization = `Bearer ${origins[0]?.localStorage[0]?.value}`
  const { instance_id: id }: { instance_id: string } = await call(gateway.origin, 'POST', '/api/instance/', {
    data: {
      name: 'talker',
      region_code: 'us-west',
      gpu_spec_id: 'cpu',
      gpu_count: 1,
      container_disk_gb: 20,
      image_id: 'berth-base',
      start_command: COMMAND,
    },
    headers: { authorization, 'idempotency-key': crypto.randomUUID() },
  })
  const page = await context.newPage()
  await page.goto(`/instance?id=${id}`)
  const lines = page.getByRole('region', { name: 'Lines of the log' })
  await expect(lines.getByText('that is all', { exact: true })).toBeVisible({ timeout: 2 * PATIENCE_MS })

  const drawn = () => lines.evaluate(element => element.querySelectorAll('div').length)
  const heightPx = () => lines.evaluate(element => element.scrollHeight)
  expect(await drawn()).toBeLessThan(ROWS_MAX)
  expect(await heightPx()).toBeLessThan((WINDOW_LINES_MAX + 2) * LINE_PX)
  // From one end of the window to the other, as many rows as before are there.
  for (const part of [0, 0.5, 0.25, 0.75]) {
    await lines.evaluate((element, to) => {
      element.scrollTop = to * element.scrollHeight
    }, part)
    await expect.poll(drawn).toBeLessThan(ROWS_MAX)
    await expect(lines.getByText(/^step \d+ x+$/).first()).toBeVisible()
  }

  // The log's first line names the command, and with it the words.
  await page.getByLabel('Find in the log').fill('NEEDLE at')
  await expect(page.getByText('No line has it.')).toBeVisible()
  await page.getByRole('button', { name: 'Search all that is kept' }).click()
  const found = page.getByRole('region', { name: 'Lines that have it' })
  await expect(found.getByText('needle at', { exact: true }).last()).toBeVisible({ timeout: 2 * PATIENCE_MS })
  await expect(page.getByText(/^2 lines of 1,000,00\d have it\.$/)).toBeVisible({ timeout: 2 * PATIENCE_MS })
  await lookAt(page, 'instance-log-search')
  // A text that every line has is no heavier.
  await page.getByLabel('Find in the log').fill('step')
  await page.getByRole('button', { name: 'Search all that is kept' }).click()
  await expect(page.getByText(/^1,000,001 lines of 1,000,00\d have it\./)).toBeVisible({
    timeout: 2 * PATIENCE_MS,
  })
  await expect(found.getByRole('listitem')).toHaveCount(200)

  const devTools = await context.newCDPSession(page)
  await devTools.send('HeapProfiler.collectGarbage')
  const { usedSize } = await devTools.send('Runtime.getHeapUsage')
  expect(usedSize).toBeLessThan(HEAP_BYTES_MAX)

  const [saved] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download the whole log' }).click(),
  ])
  expect(saved.suggestedFilename()).toBe('talker-output.log')
  let bytes = 0
  let head = ''
  let tail = ''
  for await (const piece of createReadStream(await saved.path(), 'utf8')) {
    bytes += piece.length
    if (head.length < 1_000) head += piece
    tail = (tail + piece).slice(-200)
  }
  expect(bytes).toBeGreaterThan(BYTES_MIN)
  expect(head).toContain('needle at the beginning\nstep 1 xxx')
  expect(tail).toMatch(/step 1000000 x+\nthat is all\n$/)
  await context.close()
})
