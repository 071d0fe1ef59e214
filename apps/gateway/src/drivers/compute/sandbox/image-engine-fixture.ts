import { rmSync } from 'node:fs'
import { zstdCompressSync } from 'node:zlib'
import pino from 'pino'
import { afterAll, beforeAll } from 'vitest'
import { smallMachine } from '../conformance/small-machine.ts'
import { never } from '../conformance/tools.ts'
import { makeImage, type OddEntry, packOdd, startRegistry } from '../oci/registry-fixture.ts'
import type { Engine } from '../port/engine.ts'
import { programsLayer } from './programs-layer-fixture.ts'
import { createSandboxEngine, type SandboxDeps } from './sandbox-engine.ts'

const log = pino({ level: 'silent' })

/**
 * The layer that all images of a test file begin with.
 * @param folder One of the test file's own, removed at its end.
 */
export function usePrograms(folder: string) {
  let plain: Buffer
  let packed: Buffer
  beforeAll(async () => {
    plain = await programsLayer(folder)
    packed = zstdCompressSync(plain)
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return { plain: () => plain, packed: () => packed }
}

/**
 * An engine, and machines of images that a registry in this process has.
 * @param programs As `usePrograms` has them, packed.
 * @param options.dataDir A folder for it alone.
 */
export function useImageEngine(
  programs: () => Buffer,
  options: Pick<SandboxDeps, 'dataDir'> & Partial<SandboxDeps>,
) {
  let engine: Engine
  const closing: (() => void)[] = []
  beforeAll(async () => {
    engine = await createSandboxEngine({ log, ...options })
  })
  afterAll(async () => {
    for (const { id } of await engine.machines.list()) await engine.machines.remove(id, never)
    await engine.shutdown()
    for (const close of closing) close()
  })

  /** Puts an image into a registry of its own, fetches it, and gives what a machine of it is made from. */
  async function fetched(id: string, image: ReturnType<typeof makeImage>) {
    const registry = await startRegistry(image)
    closing.push(registry.close)
    const recipe = { id, parts: { sandbox: { image: registry.reference } } }
    await engine.images.pull(recipe, () => undefined, never)
    return recipe
  }

  return {
    engine: () => engine,
    fetched,
    /** Closes the engine, machines and all, and opens another one on its folder. */
    async reopen(others: Partial<SandboxDeps>) {
      await engine.shutdown()
      engine = await createSandboxEngine({ log, ...options, ...others })
    },
    /** Makes a machine of an image that has these entries over the programs. */
    async make(
      id: string,
      entries: OddEntry[],
      said: Record<string, unknown> = {},
      part: Parameters<typeof smallMachine>[2] = {},
    ) {
      const layers = [
        { bytes: programs(), packing: '+zstd' as const },
        { bytes: packOdd(entries), packing: '' as const },
      ]
      const spec = smallMachine(id, await fetched(id, makeImage(layers, said)), part)
      await engine.machines.create(spec, never)
      return spec
    },
    async start(id: string) {
      await engine.machines.start(id, never)
      await engine.machines.begin(id, never)
    },
  }
}
