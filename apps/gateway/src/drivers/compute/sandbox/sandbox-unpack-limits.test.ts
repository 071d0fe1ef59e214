import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import pino from 'pino'
import { afterAll, expect, test } from 'vitest'
import { describeWhere, eventually, never } from '../conformance/tools.ts'
import { imageFiles } from '../oci/image-files.ts'
import { makeImage, packOdd, startRegistry } from '../oci/registry-fixture.ts'
import { processesOf } from './gateway-process-fixture.ts'
import { probeSandbox } from './probe-sandbox.ts'
import { createSandboxEngine, type SandboxDeps } from './sandbox-engine.ts'

const MB = 1024 * 1024
const log = pino({ level: 'silent' })
const folder = mkdtempSync(join(tmpdir(), 'berth-unpack-limits-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A hundred megabytes in a tenth of one. */
const bomb = packOdd([{ name: 'zeros', content: Buffer.alloc(100 * MB) }])
const crowd = packOdd(Array.from({ length: 60 }, (_, at) => ({ name: `${at}` })))
const half = packOdd([{ name: 'half', content: Buffer.alloc(9 * MB) }])
const zipped = (bytes: Buffer) => ({ bytes: gzipSync(bytes), packing: '+gzip' as const })

// Goal: what an image is unpacked to is bounded by us, whatever it says of itself. Method: small bounds, and images just over them.
describeWhere('what an image may take while it is unpacked', await probeSandbox(), () => {
  let count = 0
  async function refusal(limits: SandboxDeps['unpackLimits'], layers: Parameters<typeof makeImage>[0]) {
    const dataDir = join(folder, `${++count}`)
    const registry = await startRegistry(makeImage(layers))
    const engine = await createSandboxEngine({ dataDir, log, ...(limits && { unpackLimits: limits }) })
    try {
      const recipe = { id: 'bomb', parts: { sandbox: { image: registry.reference } } }
      const refused = await engine.images
        .pull(recipe, () => undefined, never)
        .then(
          () => null,
          ({ code, message }) => ({ code, message }),
        )
      const { trees } = imageFiles(join(dataDir, 'oci'))
      const kept = existsSync(trees) ? readdirSync(trees).length : 0
      // What the gateway itself has for its engine stays; what unpacks does not.
      await eventually(() =>
        expect(processesOf(dataDir).filter(line => /unpack/.test(String(line)))).toEqual([]),
      )
      return { ...refused, kept }
    } finally {
      registry.close()
      await engine.shutdown()
    }
  }

  test.each([
    ['a layer by gzip', [zipped(bomb)]],
    ['a layer by zstd', [{ bytes: zstdCompressSync(bomb), packing: '+zstd' as const }]],
    ['all layers together, none of which is too large', [zipped(half), zipped(half)]],
  ])(
    '[R6.4] bytes: %s that unpacks to more than may be is refused, and nothing of it stays',
    async (_name, layers) => {
      expect(await refusal({ bytesMax: 16 * MB }, layers)).toEqual({
        code: 'image_unfit',
        message: expect.stringContaining('it is larger than may be'),
        kept: 0,
      })
    },
  )

  test('[R6.4] files: an image of more than may be is refused, and nothing of it stays', async () => {
    expect(await refusal({ filesMax: 50 }, [zipped(crowd)])).toEqual({
      code: 'image_unfit',
      message: expect.stringContaining('it has more than 50 files'),
      kept: 0,
    })
  })

  test('[R6.4] time: an image that is unpacked for too long is given up, with its processes and all that it laid', async () => {
    expect(await refusal({ timeoutMs: 300 }, [zipped(bomb), zipped(bomb), zipped(bomb)])).toEqual({
      code: 'image_unfit',
      message: expect.stringContaining('it takes longer than may be'),
      kept: 0,
    })
  })

  test('within the bounds it is laid', async () => {
    expect(await refusal({ bytesMax: 19 * MB, filesMax: 60 }, [zipped(half), zipped(half)])).toEqual({
      kept: 1,
    })
  })
})
