import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startVersitygw, versitygwProbe } from '../../../../test/versitygw.ts'
import { createOuterS3 } from '../../../platform/outer-s3/outer-s3.ts'
import { describeLayoutStore } from '../conformance/layout-store.ts'
import { gathered, makeLayout, pieces } from '../conformance/layouts.ts'
import { createBucketLock } from './bucket-lock.ts'
import { createLayoutBucket } from './layout-bucket.ts'

const never = new AbortController().signal
if (!versitygwProbe.ok) process.stdout.write(`SKIP images in a bucket: ${versitygwProbe.why}\n`)

describe.skipIf(!versitygwProbe.ok)('images in a bucket', () => {
  let peer: Awaited<ReturnType<typeof startVersitygw>>
  beforeAll(async () => {
    peer = await startVersitygw()
  })
  afterAll(() => peer.stop())
  const open = (options: { bytes_max?: number; now?: () => number } = {}, prefix = 'images/') =>
    createLayoutBucket({ ...peer.target, prefix }, { bytes_max: 1e9, ...options })
  const keys = async (prefix: string) => {
    const found: string[] = []
    for await (const { key } of createOuterS3(peer.target).list(peer.target.bucket, prefix)) found.push(key)
    return found
  }

  describeLayoutStore('bucket', async () => open())

  test('a blob of several parts comes back whole, and no more is kept than may be', async () => {
    const made = await makeLayout(Buffer.alloc(20_000_001, 'many parts'))
    await expect(
      open({ bytes_max: 1_000 }, 'parts/').put(pieces(made.archive, 65_536), never),
    ).rejects.toMatchObject({
      code: 'full',
    })
    const { digest } = await open({}, 'parts/').put(pieces(made.archive, 65_536), never)
    expect((await gathered(open({}, 'parts/').get(digest, never))).equals(made.archive)).toBe(true)
    await open({}, 'parts/').remove(digest)
    expect(await keys('parts/')).toEqual([])
  })

  test('what a gateway has left that died in the midst goes with the next image that is removed, a day later', async () => {
    const s3 = createOuterS3(peer.target)
    const { bucket } = peer.target
    await s3.write(bucket, `left/announced/1`, 'a'.repeat(64))
    await s3.write(bucket, `left/blobs/sha256/${'a'.repeat(64)}`, 'half of an image')
    const made = await makeLayout('one')
    const remove = async (now: number) => {
      const store = open({ now: () => now }, 'left/')
      const { digest } = await store.put(pieces(made.archive), never)
      await store.remove(digest)
    }
    await remove(Date.now())
    expect(await keys('left/')).toHaveLength(2)
    await remove(Date.now() + 86_400_001)
    expect(await keys('left/')).toEqual([])
  })

  test('one gateway at a time holds its lock, whoever else waits', async () => {
    const { bucket } = peer.target
    const locks = [1, 2, 3].map(() => createBucketLock(createOuterS3(peer.target), bucket, 'the-lock'))
    let inside = 0
    let most = 0
    await Promise.all(
      [...locks, ...locks].map(alone =>
        alone(async () => {
          inside += 1
          most = Math.max(most, inside)
          await new Promise(resolve => setTimeout(resolve, 20))
          inside -= 1
        }),
      ),
    )
    expect(most).toBe(1)
    expect(await keys('the-lock')).toEqual([])
  })

  test('a holder that lives keeps its lock however long it works, and a dead one is broken once', async () => {
    const { bucket } = peer.target
    const s3 = createOuterS3(peer.target)
    const lock = () => createBucketLock(createOuterS3(peer.target), bucket, 'long-lock', { heldMsMax: 800 })
    let inside = 0
    let most = 0
    const work = (ms: number) => async () => {
      inside += 1
      most = Math.max(most, inside)
      await new Promise(resolve => setTimeout(resolve, ms))
      inside -= 1
    }
    const slow = lock()(work(3_000))
    await Promise.all([slow, lock()(work(10)), lock()(work(10))])
    expect(most).toBe(1)
    await s3.write(bucket, 'long-lock', 'the dead')
    await Promise.all([1, 2, 3, 4].map(() => lock()(work(50))))
    expect(most).toBe(1)
    expect(await keys('long-lock')).toEqual([])
  }, 30_000)

  test('an image of which a blob went while it was kept is not there', async () => {
    const s3 = createOuterS3(peer.target)
    const made = await makeLayout('one that goes')
    const put = open({}, 'gone/').put(pieces(made.archive), never, async () => {
      await s3.remove(peer.target.bucket, await keys('gone/blobs/'))
    })
    await expect(put).rejects.toMatchObject({ code: 'unavailable' })
    expect(await keys('gone/images/')).toEqual([])
  })

  test('a server that is gone, or a key that it does not know, is told by its code, without the secret', async () => {
    const other = createLayoutBucket(
      { ...peer.target, prefix: '', secretAccessKey: 'not-the-secret' },
      { bytes_max: 1e9 },
    )
    const failed = await other.sizes().catch((error: unknown) => error)
    expect(failed).toMatchObject({ code: 'unavailable' })
    expect(String(failed)).not.toContain('not-the-secret')
    const gone = createLayoutBucket(
      { ...peer.target, prefix: '', endpoint: 'http://127.0.0.1:9' },
      { bytes_max: 1e9 },
    )
    await expect(gone.sizes()).rejects.toMatchObject({ code: 'unavailable' })
  })
})
