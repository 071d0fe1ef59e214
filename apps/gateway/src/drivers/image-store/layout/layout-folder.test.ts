import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { digestOf } from '../../../platform/image-layout/layout.ts'
import { isInstalled } from '../../compute/oci/registry-fixture.ts'
import { describeLayoutStore } from '../conformance/layout-store.ts'
import { gathered, makeLayout, pieces } from '../conformance/layouts.ts'
import { createLayoutFolder, type LayoutFolderOptions } from './layout-folder.ts'

const never = new AbortController().signal
const folder = mkdtempSync(join(tmpdir(), 'berth-layout-'))
let count = 0
const newDir = () => join(folder, `${++count}`)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const open = (dir: string, options: Partial<LayoutFolderOptions> = {}) =>
  createLayoutFolder(dir, { bytes_max: 1e9, free_bytes_min: 0, ...options })

const shared = newDir()
describeLayoutStore('layout', async () => open(shared))

/** The blobs that are really there. */
const blobsIn = (dir: string) => readdirSync(join(dir, 'blobs/sha256')).map(hex => `sha256:${hex}`)

async function dyingAt(dir: string, what: 'put' | 'remove', given: string, step: number): Promise<boolean> {
  const script = join(import.meta.dirname, 'put-fixture.ts')
  return promisify(execFile)(process.execPath, [script, dir, what, given, String(step)]).then(
    () => false,
    (error: { signal?: string; stderr?: string }) => {
      if (error.signal !== 'SIGKILL') throw new Error(error.stderr)
      return true
    },
  )
}

test('[R4.6] a process that is killed at any step of keeping an image leaves all of it or nothing', async () => {
  const base = Buffer.alloc(30_000, 'base')
  const [before, made] = [await makeLayout(base), await makeLayout(base, Buffer.alloc(30_000, 'new'))]
  const path = join(folder, 'archive.tar')
  writeFileSync(path, made.archive)
  const seen = { with: 0, without: 0 }
  for (let step = 1, isDying = true; isDying; step++) {
    const dir = newDir()
    await open(dir).put(pieces(before.archive), never)
    isDying = await dyingAt(dir, 'put', path, step)
    const store = open(dir)
    const { digest } = made.image.descriptor
    const isThere = (await store.sizes()).images.has(digest)
    seen[isThere ? 'with' : 'without']++
    if (isThere) expect(await gathered(store.get(digest, never))).toEqual(made.archive)
    expect(await gathered(store.get(before.image.descriptor.digest, never))).toEqual(before.archive)
    // Whoever opens the store next takes away what was left, and has all that it needs.
    await store.put(pieces(made.archive), never)
    expect(await gathered(store.get(digest, never))).toEqual(made.archive)
    await store.remove(digest)
    expect(blobsIn(dir).sort()).toEqual(
      [digestOf(before.image.bytes), digestOf(base), before.image.manifest.config.digest].sort(),
    )
    const sessions = readdirSync(join(dir, 'aside'))
    expect(
      sessions.flatMap(name => readdirSync(join(dir, 'aside', name))).filter(name => name !== 'lock'),
    ).toEqual([])
  }
  expect(seen.without).toBeGreaterThan(8)
  expect(seen.with).toBeGreaterThan(0)
})

test('a process that is killed at any step of removing an image takes nothing of others, and the rest goes later', async () => {
  const base = Buffer.alloc(30_000, 'base')
  const [left, gone] = [await makeLayout(base), await makeLayout(base, Buffer.alloc(30_000, 'gone'))]
  for (let step = 1, isDying = true; isDying; step++) {
    const dir = newDir()
    const first = open(dir)
    for (const { archive } of [left, gone]) await first.put(pieces(archive), never)
    isDying = await dyingAt(dir, 'remove', gone.image.descriptor.digest, step)
    const store = open(dir)
    await store.remove(gone.image.descriptor.digest)
    expect(await gathered(store.get(left.image.descriptor.digest, never))).toEqual(left.archive)
    expect(blobsIn(dir)).toHaveLength(3)
  }
})

test('a store takes no more than it may, of its own limit and of its disk, and says so before it writes', async () => {
  const made = await makeLayout(Buffer.alloc(10_000, 'one'))
  const size = made.archive.length
  await expect(open(newDir(), { bytes_max: 5_000 }).put(pieces(made.archive), never)).rejects.toMatchObject({
    code: 'full',
  })
  await expect(
    open(newDir(), { free_bytes_min: 1e15 }).put(pieces(made.archive), never),
  ).rejects.toMatchObject({ code: 'full' })
  const dir = newDir()
  const store = open(dir, { bytes_max: size + 5_000 })
  await store.put(pieces(made.archive), never)
  const more = await makeLayout(Buffer.alloc(10_000, 'two'))
  await expect(store.put(pieces(more.archive), never)).rejects.toMatchObject({ code: 'full' })
  // Of two that come at once and would fit alone, one is refused at its end.
  const both = [await makeLayout('x'.repeat(2_000)), await makeLayout('y'.repeat(2_000))]
  const room = open(newDir(), { bytes_max: 4_000 })
  const ends = await Promise.allSettled(both.map(({ archive }) => room.put(pieces(archive), never)))
  expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  await store.remove(made.image.descriptor.digest)
  await store.put(pieces(more.archive), never)
})

test('an image of too many bytes or layers is refused by what its manifest says', async () => {
  const limits = { bytes_max: 1_000, layers_max: 1 }
  const big = await makeLayout('x'.repeat(2_000))
  const many = await makeLayout('one', 'two')
  for (const { archive } of [big, many]) {
    await expect(open(newDir(), { limits }).put(pieces(archive), never)).rejects.toMatchObject({
      code: 'too_large',
    })
  }
})

test('an image that is removed while it is read is read to its end', async () => {
  const store = open(newDir())
  const made = await makeLayout(Buffer.alloc(2_000_000, 'one'), Buffer.alloc(2_000_000, 'two'))
  const { digest } = await store.put(pieces(made.archive, 65_536), never)
  const found: Uint8Array[] = []
  for await (const piece of store.get(digest, never)) {
    if (found.length === 0) await store.remove(digest)
    found.push(piece)
  }
  expect(Buffer.concat(found)).toEqual(made.archive)
})

test('other tools read the folder as an OCI image layout', async context => {
  if (!isInstalled('skopeo')) return context.skip('skopeo is not on this computer')
  const dir = newDir()
  const store = open(dir)
  const { digest } = await store.put(pieces((await makeLayout('layer')).archive), never)
  const said = execFileSync('skopeo', ['inspect', '--raw', `oci:${dir}`], { encoding: 'utf8' })
  expect(digestOf(Buffer.from(said))).toBe(digest)
})
