import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../../../../../scripts/test/free-port.ts'
import { eventually } from '../../compute/conformance/tools.ts'
import { hasRealRegistry } from '../../compute/oci/registry-fixture.ts'
import { describeLayoutStore } from '../conformance/layout-store.ts'
import { makeLayout, pieces } from '../conformance/layouts.ts'
import { createLayoutRegistry } from './layout-registry.ts'

const never = new AbortController().signal
if (!hasRealRegistry) process.stdout.write('SKIP registry: docker-registry is not installed\n')

/** A registry that lets its images be deleted, or not. */
async function startRegistry(isDeletable: boolean) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-image-store-'))
  const host = `127.0.0.1:${await freePort()}`
  // JSON is YAML.
  const storage = { filesystem: { rootdirectory: join(folder, 'data') }, delete: { enabled: isDeletable } }
  writeFileSync(join(folder, 'config.yml'), JSON.stringify({ version: 0.1, storage, http: { addr: host } }))
  const child = spawn('docker-registry', ['serve', join(folder, 'config.yml')], { stdio: 'ignore' })
  await eventually(async () => void (await fetch(`http://${host}/v2/`)))
  return {
    place: { origin: `http://${host}`, repository: 'berth/images', login: null },
    async close() {
      child.kill('SIGKILL')
      await once(child, 'exit')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

describe.skipIf(!hasRealRegistry)('images at a registry', () => {
  let registry: Awaited<ReturnType<typeof startRegistry>>
  beforeAll(async () => {
    registry = await startRegistry(true)
  })
  afterAll(() => registry.close())
  const open = (options: { bytes_max?: number } = {}) =>
    createLayoutRegistry(registry.place, { bytes_max: 1e9, ...options })
  describeLayoutStore('registry', async () => open())

  test('a blob of several pieces comes back whole, and no more is kept than may be', async () => {
    const made = await makeLayout(Buffer.alloc(20_000_001, 'many pieces'))
    await expect(open({ bytes_max: 1_000 }).put(pieces(made.archive, 65_536), never)).rejects.toMatchObject({
      code: 'full',
    })
    const { digest } = await open().put(pieces(made.archive, 65_536), never)
    const found: Uint8Array[] = []
    for await (const piece of open().get(digest, never)) found.push(piece)
    expect(Buffer.concat(found).equals(made.archive)).toBe(true)
    await open().remove(digest)
  })

  test('a registry that is gone, or lets nothing be deleted, is told by its code', async () => {
    const other = await startRegistry(false)
    const store = createLayoutRegistry(other.place, { bytes_max: 1e9 })
    const made = await makeLayout('one')
    const { digest } = await store.put(pieces(made.archive), never)
    await expect(store.remove(digest)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('settings'),
    })
    await other.close()
    await expect(store.put(pieces(made.archive), never)).rejects.toMatchObject({ code: 'unavailable' })
    await expect(store.sizes()).rejects.toMatchObject({ code: 'unavailable' })
  })
})
