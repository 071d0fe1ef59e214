import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createOperatorFixture } from '../src/operator/type-commands-fixture.ts'
import { createSummer, MANIFEST_NAME, SUMS_NAME } from '../src/platform/backup/backup-format.ts'
import { partsOf } from '../src/platform/backup/read-backup.ts'
import { systemClock } from '../src/platform/clock.ts'
import { readConfig } from '../src/platform/config/config.ts'
import { systemIds } from '../src/platform/ids.ts'
import { TAR_END, type TarHeader, tarHeader, tarPadding } from '../src/platform/tar/tar-writer.ts'
import { makeQuickFolder } from './quick-folder.ts'
import { createTestDatabase, type TestDatabase } from './test-database.ts'

// Goal: whoever has an operator restore a file of theirs writes nothing but what the folders of an installation hold.
// Method: a backup that is whole, and says so by its sums, with entries more that lead elsewhere.

vi.setConfig({ testTimeout: 400_000, hookTimeout: 400_000 })

const WHOLE = resolve(import.meta.dirname, 'backups/schema-0083.tar.gz')

let folder: string
let database: TestDatabase
let config: ReturnType<typeof readConfig>
let operator: ReturnType<typeof createOperatorFixture>
let elsewhere: string
beforeAll(async () => {
  folder = makeQuickFolder('backup-hostile')
  elsewhere = join(folder, 'elsewhere')
  mkdirSync(elsewhere, { mode: 0o755 })
  database = await createTestDatabase()
  config = readConfig({
    PATH: process.env.PATH ?? '',
    BERTH_DATA_DIR: join(folder, 'data'),
    BERTH_COMPUTE: 'sandbox',
    BERTH_BACKUP_PASSPHRASE: 'a passphrase of a test',
    DATABASE_URL: database.url,
  })
  operator = createOperatorFixture({ clock: systemClock, ids: systemIds, config, installation: {} })
})
afterAll(async () => {
  await database.drop()
  rmSync(folder, { recursive: true, force: true })
})

interface More {
  header: Partial<TarHeader> & Pick<TarHeader, 'name' | 'type'>
  text?: string
}

/** A backup with more entries, whose sums say that all is well. @param change Of its manifest. */
async function forged(more: readonly More[], change: (manifest: string) => string = same => same) {
  const summer = createSummer()
  const pieces: Buffer[] = []
  const put = (header: TarHeader, bytes: Buffer, isSummed = true) => {
    if (isSummed) {
      // As it is read: what is no file, folder or link is `other`.
      summer.entry(header.name, header.type === 'char' ? 'other' : header.type, header.target ?? '')
      summer.bytes(bytes)
    }
    pieces.push(tarHeader({ ...header, size: bytes.length }), bytes, tarPadding(bytes.length))
  }
  let sums = '{}'
  for await (const { entry, bytes } of partsOf(WHOLE)) {
    const text = await buffer(bytes)
    const header = { name: entry.name, type: 'file', mode: 0o600 } as const
    if (entry.name === SUMS_NAME) sums = text.toString()
    else if (entry.name === MANIFEST_NAME) {
      const manifest = { ...JSON.parse(text.toString()), folders: ['images', 'machines'] }
      put(header, Buffer.from(change(JSON.stringify(manifest))))
    } else put(header, text)
  }
  for (const { header, text = '' } of more) put({ mode: 0o755, ...header }, Buffer.from(text))
  const told = Buffer.from(JSON.stringify({ ...JSON.parse(sums), ...summer.done() }))
  put({ name: SUMS_NAME, type: 'file', mode: 0o600 }, told, false)
  const file = join(folder, `${systemIds.uuid()}.tar.gz`)
  writeFileSync(file, gzipSync(Buffer.concat([...pieces, TAR_END])))
  return file
}

const link = (name: string, target: string): More => ({ header: { name, type: 'symlink', target } })
const file = (name: string, text = 'evil'): More => ({ header: { name, type: 'file' }, text })
const dir = (name: string, mode = 0o777): More => ({ header: { name, type: 'folder', mode } })
const IN = 'folders/machines'
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)

test.each([
  ['a name that climbs', () => [file(`${IN}/../../../elsewhere/evil`)]],
  ['a whole path', () => [file(`${IN}//${elsewhere}/evil`)]],
  ['a file behind a link', () => [link(`${IN}/a`, elsewhere), file(`${IN}/a/evil`)]],
  [
    'a file behind a link in a folder',
    () => [dir(`${IN}/i`), link(`${IN}/i/a`, '../../../elsewhere'), file(`${IN}/i/a/evil`)],
  ],
  ['a link behind a link', () => [link(`${IN}/a`, elsewhere), link(`${IN}/a/evil`, '/etc/passwd')]],
  ['a folder behind a link', () => [link(`${IN}/a`, elsewhere), dir(`${IN}/a/evil`)]],
  [
    'a folder in place of a link, whose rights it would change',
    () => [link(`${IN}/a`, elsewhere), dir(`${IN}/a`)],
  ],
  ['a file in place of a link', () => [link(`${IN}/a`, join(elsewhere, 'evil')), file(`${IN}/a`)]],
  [
    'a link of the other kind',
    () => [{ header: { name: `${IN}/a`, type: 'hardlink', target: '/etc/passwd' } } satisfies More],
  ],
  [
    'a device',
    () => [{ header: { name: `${IN}/a`, type: 'char', device: { major: 1, minor: 1 } } } satisfies More],
  ],
  ['a name that is longer than any', () => [file(`${IN}/${'x'.repeat(5_000)}`)]],
  ['a folder that no installation has', () => [file('folders/etc/passwd')]],
])('[R6.5] %s in a backup is refused in words, and nothing is there of it', async (_, entries) => {
  const typed = await operator.type('backup', 'restore', await forged(entries()))
  expect(typed).toMatchObject({ exit: 1, out: '', err: expect.stringContaining('The backup has') })
  expect(readdirSync(elsewhere)).toEqual([])
  expect(modeOf(elsewhere)).toBe('755')
  expect(existsSync(config.sandboxDir)).toBe(false)
  expect(existsSync(`${config.sandboxDir}.restoring`)).toBe(false)
})

test.each([
  ['no JSON', () => '{'],
  ['JSON of something else', () => '[1]'],
  ['a table of nowhere', (text: string) => text.replace('"public"', '"pg_catalog"')],
  [
    'a name that is no name of a folder',
    (text: string) => text.replace('"folders":["images"', '"folders":["../.."'),
  ],
])('[R6.5] a manifest that is %s is refused in words', async (_, change) => {
  const typed = await operator.type('backup', 'restore', await forged([], change))
  expect(typed).toMatchObject({ exit: 1, out: '', err: expect.stringContaining('does not know') })
})

test('[R6.5] what is whole comes back with its links as they are, and nothing is laid behind them', async () => {
  const entries = [dir(`${IN}/i`), link(`${IN}/i/a`, elsewhere), file(`${IN}/i/b`, 'of a machine')]
  const typed = await operator.type('backup', 'restore', await forged(entries))
  expect(typed).toMatchObject({ exit: 0, err: '' })
  expect(readFileSync(join(config.sandboxDir, 'i/b'), 'utf8')).toBe('of a machine')
  expect(readdirSync(elsewhere)).toEqual([])
})
