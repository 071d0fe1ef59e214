import { randomUUID } from 'node:crypto'
import { type OuterS3, OuterS3Error } from '../../../platform/outer-s3/outer-s3.ts'
import { LayoutStoreError } from '../port.ts'

/** Whoever holds the lock for so long is dead: what is done under it is a few calls. */
const HELD_MS_MAX = 120_000
const TRY_MS = 200
const WAIT_MS_MAX = 300_000

/**
 * A lock of several gateways at one bucket: an object that is made only where there is none (`If-None-Match: *`). Who waits
 * measures by its own clock how long one and the same holder stands there, so that no two clocks need agree.
 */
export function createBucketLock(s3: OuterS3, bucket: string, key: string) {
  /** Of this process one waits at the bucket at a time. */
  let before: Promise<unknown> = Promise.resolve()
  let isHonest: Promise<void> | null = null

  /** A server that takes no notice of the condition would let two in. */
  async function check(): Promise<void> {
    const probe = `${key}-probe-${randomUUID()}`
    await s3.write(bucket, probe, '', { ifNew: true })
    try {
      await s3.write(bucket, probe, '', { ifNew: true })
    } catch (error) {
      if (error instanceof OuterS3Error && error.code === 'exists') return
      throw error
    } finally {
      await s3.remove(bucket, [probe])
    }
    throw new LayoutStoreError('unavailable', 'the S3 server takes no notice of If-None-Match')
  }

  async function take(mine: string): Promise<void> {
    isHonest ??= check()
    isHonest.catch(() => {
      isHonest = null
    })
    await isHonest
    const begun = performance.now()
    let seen = { holder: '', since: 0 }
    for (;;) {
      try {
        await s3.write(bucket, key, mine, { ifNew: true })
        return
      } catch (error) {
        if (!(error instanceof OuterS3Error && error.code === 'exists')) throw error
      }
      const now = performance.now()
      const holder = (await s3.read(bucket, key))?.toString('utf8') ?? null
      // An answer that was lost: it is ours.
      if (holder === mine) return
      if (holder !== null && seen.holder === holder && now - seen.since > HELD_MS_MAX) {
        await s3.remove(bucket, [key])
        seen = { holder: '', since: 0 }
      } else if (holder !== null && seen.holder !== holder) seen = { holder, since: now }
      if (now - begun > WAIT_MS_MAX)
        throw new LayoutStoreError('unavailable', 'other gateways hold the store of images')
      await new Promise(resolve => setTimeout(resolve, TRY_MS * (0.5 + Math.random())))
    }
  }

  /** Does some work of a few calls while nobody else does any. */
  return function alone<T>(work: () => Promise<T>): Promise<T> {
    const done = before.then(async () => {
      const mine = randomUUID()
      await take(mine)
      try {
        return await work()
      } finally {
        // Whoever took it from us meanwhile keeps it.
        if ((await s3.read(bucket, key))?.toString('utf8') === mine) await s3.remove(bucket, [key])
      }
    })
    before = done.catch(() => undefined)
    return done
  }
}
