import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { zstdCompressSync } from 'node:zlib'
import { afterAll, expect, test } from 'vitest'
import { unpackLayer } from './plain-layer.ts'

const MIB = 1024 ** 2
const dir = mkdtempSync(join(tmpdir(), 'berth-plain-layer-'))
afterAll(() => rmSync(dir, { recursive: true }))

function packed(name: string, bytes: number) {
  const content = Buffer.alloc(bytes)
  const from = join(dir, name)
  writeFileSync(from, zstdCompressSync(content))
  const diff_id = `sha256:${createHash('sha256').update(content).digest('hex')}`
  return { from, out: join(dir, `${name}.out`), diff_id }
}

test('[B7] a layer of a few bytes that unpacks to very many ends at its limit, and no more of it is written', async () => {
  const bomb = packed('bomb', 256 * MIB)
  expect(statSync(bomb.from).size).toBeLessThan(MIB)
  await expect(unpackLayer(bomb, 2 * MIB)).rejects.toMatchObject({ fault: 'too_large' })
  expect(statSync(bomb.out).size).toBeLessThanOrEqual(2 * MIB)
  const fits = packed('fits', MIB)
  await unpackLayer(fits, 2 * MIB)
  expect(statSync(fits.out).size).toBe(MIB)
})

test('[B7] a layer that is another than its image says is told', async () => {
  const layer = { ...packed('other', MIB), diff_id: `sha256:${'0'.repeat(64)}` }
  await expect(unpackLayer(layer, 2 * MIB)).rejects.toMatchObject({ fault: 'digest_wrong' })
})
