import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { bytesOf } from '../../../platform/image-layout/layout.ts'
import { type LayoutStore, LayoutStoreError, type LayoutStoreErrorCode } from '../port.ts'
import { gathered, type MadeLayout, makeLayout, pieces } from './layouts.ts'

const never = new AbortController().signal
const LAYER_BYTES = 40_000

async function codeOf(call: Promise<unknown>): Promise<LayoutStoreErrorCode | null> {
  const error = await call.then(
    () => null,
    (reason: unknown) => reason,
  )
  if (error !== null && !(error instanceof LayoutStoreError)) throw error
  return error?.code ?? null
}

/**
 * What every store of images must do. Each test keeps images of its own.
 * @param open Opens one and the same store; the second time stands for another gateway.
 */
export function describeLayoutStore(name: string, open: () => Promise<LayoutStore>): void {
  describe(`${name} keeps the port of stores of images`, () => {
    const someBytes = () => randomBytes(LAYER_BYTES)
    const put = (store: LayoutStore, { archive }: MadeLayout) => store.put(pieces(archive), never)
    const has = async (store: LayoutStore, { image }: MadeLayout) =>
      (await store.sizes()).images.has(image.descriptor.digest)

    test('[R4.6] an image comes back as it was kept, and whoever opens the store next has it', async () => {
      const store = await open()
      const made = await makeLayout(someBytes(), someBytes())
      const { digest } = made.image.descriptor
      const size_bytes = bytesOf(made.image)
      expect(await put(store, made)).toEqual({ digest, size_bytes, new_bytes: size_bytes })
      expect(await put(store, made)).toEqual({ digest, size_bytes, new_bytes: 0 })
      for (const one of [store, await open()]) {
        expect(await gathered(one.get(digest, never))).toEqual(made.archive)
        expect((await one.sizes()).images.get(digest)?.size_bytes).toBe(size_bytes)
      }
      await store.remove(digest)
      await store.remove(digest)
      expect(await has(store, made)).toBe(false)
      expect(await codeOf(gathered(store.get(digest, never)))).toBe('not_found')
    })

    test('what several images share is kept once, counted once, and goes with the last of them', async () => {
      const store = await open()
      const base = someBytes()
      const [first, second] = [await makeLayout(base, someBytes()), await makeLayout(base, someBytes())]
      const before = (await store.sizes()).bytes
      const kept = await put(store, first)
      const { new_bytes, size_bytes } = await put(store, second)
      expect(new_bytes).toBe(size_bytes - LAYER_BYTES)
      const { bytes, images } = await store.sizes()
      expect(bytes - before).toBe(kept.size_bytes + new_bytes)
      expect(images.get(kept.digest)).toEqual({
        size_bytes: kept.size_bytes,
        own_bytes: kept.size_bytes - LAYER_BYTES,
      })
      expect(await store.remove(kept.digest)).toEqual({ freed_bytes: kept.size_bytes - LAYER_BYTES })
      expect(await gathered(store.get(second.image.descriptor.digest, never))).toEqual(second.archive)
      expect(await store.remove(second.image.descriptor.digest)).toEqual({ freed_bytes: size_bytes })
      expect((await store.sizes()).bytes).toBe(before)
    })

    test('an archive that is cut, lies or is none leaves nothing that anybody sees', async () => {
      const store = await open()
      const made = await makeLayout(someBytes(), someBytes())
      const before = await store.sizes()
      for (const share of [0, 0.02, 0.5, 0.99]) {
        const front = made.archive.subarray(0, Math.floor((made.archive.length - 1_024) * share))
        expect(await codeOf(store.put(pieces(front), never))).toBe('cut')
      }
      const lie = Buffer.from(made.archive)
      lie.writeUInt8(lie.readUInt8(lie.length - 10_000) ^ 1, lie.length - 10_000)
      expect(await codeOf(store.put(pieces(lie), never))).toBe('damaged')
      expect(await codeOf(store.put(pieces(Buffer.alloc(2_048, 'x')), never))).toBe('unfit')
      const broken = (async function* () {
        yield made.archive.subarray(0, 50_000)
        throw new Error('the line broke')
      })()
      await expect(store.put(broken, never)).rejects.toThrow('the line broke')
      expect(await store.sizes()).toEqual(before)
      expect(await codeOf(put(store, made))).toBeNull()
      await store.remove(made.image.descriptor.digest)
      expect(await store.sizes()).toEqual(before)
    })

    test('its digest is told before anybody sees it, and who cannot take that down has nothing kept', async () => {
      const store = await open()
      const made = await makeLayout(someBytes())
      const { digest } = made.image.descriptor
      const fault = new Error('the pencil broke')
      const refused = store.put(pieces(made.archive), never, () => Promise.reject(fault))
      await expect(refused).rejects.toBe(fault)
      expect(await has(store, made)).toBe(false)
      const told: [string, boolean][] = []
      await store.put(pieces(made.archive), never, async one => {
        told.push([one, await has(store, made)])
      })
      expect(told).toEqual([[digest, false]])
      expect(await has(store, made)).toBe(true)
      await store.remove(digest)
    })

    test('what lies is found though its store has the blob already', async () => {
      const store = await open()
      const base = someBytes()
      const first = await makeLayout(base)
      await put(store, first)
      const { archive } = await makeLayout(base, someBytes())
      const at = archive.indexOf(base)
      archive.writeUInt8(archive.readUInt8(at) ^ 1, at)
      expect(await codeOf(store.put(pieces(archive), never))).toBe('damaged')
      expect(await gathered(store.get(first.image.descriptor.digest, never))).toEqual(first.archive)
      await store.remove(first.image.descriptor.digest)
    })

    test('whoever gives up leaves nothing, and one who stops to read leaves nothing open', async () => {
      const store = await open()
      const made = await makeLayout(someBytes())
      const stop = new AbortController()
      const slow = (async function* () {
        yield made.archive.subarray(0, 20_000)
        stop.abort(new Error('enough'))
        yield made.archive.subarray(20_000)
      })()
      expect(await codeOf(store.put(slow, stop.signal))).toBe('given_up')
      expect(await has(store, made)).toBe(false)
      const { digest } = await put(store, made)
      for await (const _ of store.get(digest, never)) break
      expect(await codeOf(gathered(store.get(digest, stop.signal)))).toBe('given_up')
      await store.remove(digest)
    })

    test('the same image kept many times at once is kept once, and removing others meanwhile takes nothing of it', async () => {
      const store = await open()
      const other = await open()
      const base = someBytes()
      const made = await makeLayout(base, someBytes())
      for (let round = 0; round < 5; round++) {
        const doomed = await makeLayout(base, someBytes())
        await put(store, doomed)
        const answers = await Promise.all([
          put(store, made),
          put(other, made),
          put(other, await makeLayout(base, someBytes())),
          store.remove(doomed.image.descriptor.digest),
          put(store, made),
        ])
        expect(answers[0]).toMatchObject({ digest: made.image.descriptor.digest })
        expect(await gathered(other.get(made.image.descriptor.digest, never))).toEqual(made.archive)
        await other.remove(made.image.descriptor.digest)
      }
    })
  })
}
