import { randomUUID } from 'node:crypto'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addInstanceRows } from '../../test/many-instances.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { createInstanceDesk } from '../domains/instances/instance-desk.ts'
import { systemClock } from '../platform/clock.ts'
import { type Config, readConfig } from '../platform/config/config.ts'
import { systemIds } from '../platform/ids.ts'
import type { Operated } from './operated.ts'
import { createOperatorFixture } from './type-commands-fixture.ts'

/** Goal: what an operator reads before a change, or when something hangs, is the truth, and ends as scripts expect. */

const config: Config = readConfig({})
let folder: string
let database: TestDatabase
let operator: ReturnType<typeof createOperatorFixture>
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-looking-'))
  // With what it names beside itself.
  cpSync(dirname(config.catalogueFile), folder, { recursive: true })
  database = await createTestDatabase()
  const instances = { desk: createInstanceDesk({ db: database.db, clock: systemClock }) }
  operator = createOperatorFixture({
    ...{ clock: systemClock, ids: systemIds, config },
    installation: { instances: instances as Operated['instances'] },
  })
})
afterAll(async () => {
  await database.drop()
  rmSync(folder, { recursive: true, force: true })
})

/** The shipped catalogue with one text in place of another. @returns Its file, and the first line that differs. */
function catalogueWith(text: string, other: string): { file: string; line: number } {
  const shipped = readFileSync(config.catalogueFile, 'utf8')
  expect(shipped).toContain(text)
  const file = join(folder, `${randomUUID()}.yaml`)
  writeFileSync(file, shipped.replace(text, other))
  return { file, line: shipped.slice(0, shipped.indexOf(text)).split('\n').length }
}

test('[R6.5] catalogue check names the line of a mistake and ends with 1, and with 0 where all is good', async () => {
  expect(await operator.type('catalogue check')).toMatchObject({
    ...{ exit: 0, out: expect.stringMatching(/ is good: \d+ regions, \d+ GPUs, /) },
  })
  const { file, line } = catalogueWith('price_per_hour: "0.08"', 'price_per_hour: "much"')
  const checked = await operator.type('catalogue', 'check', file)
  expect(checked).toMatchObject({ exit: 1, err: '' })
  expect(checked.out).toContain(`${file}:${line}: gpu_specs.0.price_per_hour: `)
  const json = await operator.type('catalogue', 'check', file, '--json')
  expect(json.exit).toBe(1)
  expect(JSON.parse(json.out)).toMatchObject({ file, good: false, problems: [expect.any(String)] })
  // One that is no YAML, and one that nobody wrote.
  const torn = catalogueWith('price_per_hour: "0.08"', 'price_per_hour: "0.08')
  expect((await operator.type('catalogue', 'check', torn.file)).exit).toBe(1)
  expect((await operator.type('catalogue', 'check', join(folder, 'none.yaml'))).exit).not.toBe(0)
})

test('[R6.5] catalogue diff says a price as money and ends with 1, and with 0 where nothing differs', async () => {
  const same = await operator.type('catalogue', 'diff', config.catalogueFile)
  expect(same).toEqual({ exit: 0, out: 'Nothing differs.\n', err: '' })
  const { file } = catalogueWith('price_per_hour: "0.08"', 'price_per_hour: "0.11"')
  expect(await operator.type('catalogue', 'diff', file)).toEqual({
    ...{ exit: 1, out: '~ GPU cpu  price_per_hour: $0.08 → $0.11\n', err: '' },
  })
  const wrong = catalogueWith('price_per_hour: "0.08"', 'price_per_hour: "much"')
  expect(await operator.type('catalogue', 'diff', wrong.file)).toMatchObject({
    ...{ exit: 1, out: '', err: expect.stringContaining(`${wrong.file}:${wrong.line}: `) },
  })
})

test('[R6.5] mail preview shows a mail in Chinese with made-up facts, and writes all of a language as files', async () => {
  const { out, exit } = await operator.type('mail preview low-balance --language zh')
  expect(exit).toBe(0)
  expect(out).toMatch(/^To: ada@example\.com\nSubject: .*\p{Script=Han}/u)
  // No word is left to be filled in.
  expect(out).not.toMatch(/\{\w+\}|undefined/)
  expect(out).not.toBe((await operator.type('mail preview low-balance')).out)
  const names = (await operator.type('mail preview')).out.trimEnd().split('\n')
  const target = join(folder, 'mails')
  const all = await operator.type('mail', 'preview', '--all', '--language', 'zh', '--to-folder', target)
  expect(all).toMatchObject({ exit: 0, out: `${names.length} mails in ${target}.\n` })
  expect(readdirSync(target).sort()).toEqual(names.map(name => `${name}.zh.txt`).sort())
  expect(readFileSync(join(target, 'low-balance.zh.txt'), 'utf8')).toBe(out)
  expect(await operator.type('mail preview nothing')).toMatchObject({ exit: 3, out: '' })
})

test('[R6.5] instances list --stuck shows what hangs, in what and why, longest first, and nothing else', async () => {
  expect((await operator.type('instances list --stuck')).out).toBe('Nothing hangs.\n')
  const ago = (days: number) => new Date(Date.now() - days * 86_400_000)
  const row = { userId: randomUUID(), desired: 'running' as const }
  await addInstanceRows(database.db, [
    { ...row, id: 'i-works00', status: 'running', statusSince: ago(9) },
    { ...row, id: 'i-begins0', status: 'creating', statusSince: new Date() },
    { ...row, id: 'i-tried00', status: 'running', statusSince: ago(1), attempts: 3, failureCode: 'engine' },
    { ...row, id: 'i-hangs00', status: 'creating', statusSince: ago(2) },
    { ...row, id: 'i-afar000', status: 'unknown', statusSince: ago(3), regionCode: 'eu-north' },
  ])
  const { out } = await operator.type('instances list --stuck')
  const lines = out.trimEnd().split('\n').slice(1)
  expect(lines.map(line => line.split(' ')[0])).toEqual(['i-afar000', 'i-hangs00', 'i-tried00'])
  expect(lines[0]).toMatch(/unknown +3 days ago +nobody sees its machine$/)
  expect(lines[1]).toMatch(/creating +2 days ago +creating for too long$/)
  expect(lines[2]).toMatch(/3 tries failed +engine$/)
  expect(await operator.json('instances list --stuck --region us-west')).toMatchObject([
    { instance_id: 'i-hangs00', user_id: row.userId, stall: 'creating for too long' },
    { instance_id: 'i-tried00', attempts: 3, why: 'engine' },
  ])
})
