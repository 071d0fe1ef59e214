import { pbkdf2 } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { TAR_END, tarHeader, tarPadding } from '../../../platform/tar/tar-writer.ts'
import { packLayer } from './pack-layer.ts'

const dir = mkdtempSync(join(tmpdir(), 'berth-pack-layer-'))
afterAll(() => rmSync(dir, { recursive: true }))

const archive = join(dir, 'archive.tar')
const CONTENT = Buffer.from('what a machine wrote')
const NODE_THREADS = 4

function orders(name: string) {
  return {
    ...{ argv: ['cat', archive], out: join(dir, name), unpacked: [], left_out: [] },
    ...{ users: { first: 0, count: 1 }, bytes_max: 1e6, files_max: 10, kept_bytes: 0 },
  }
}

test('[R4.6] [B7] a layer has all that was read, also where its file opens long after the program that reads has ended', async () => {
  const header = { name: './kept', type: 'file' as const, mode: 0o644, size: CONTENT.length }
  writeFileSync(archive, Buffer.concat([tarHeader(header), CONTENT, tarPadding(CONTENT.length), TAR_END]))
  await packLayer(orders('quick'), () => {})
  // Opening waits its turn at Node's threads, as it does where much else is done.
  const busy = Array.from({ length: 2 * NODE_THREADS }, (_, at) =>
    promisify(pbkdf2)('word', `${at}`, 100_000, 32, 'sha512'),
  )
  await packLayer(orders('late'), () => {})
  await Promise.all(busy)
  expect(readFileSync(join(dir, 'late'))).toEqual(readFileSync(join(dir, 'quick')))
  expect(readFileSync(join(dir, 'late')).includes(CONTENT)).toBe(true)
})
