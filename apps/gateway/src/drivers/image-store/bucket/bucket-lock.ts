import { randomUUID } from 'node:crypto'
import { type OuterS3, OuterS3Error } from '../../../platform/outer-s3/outer-s3.ts'
import { LayoutStoreError } from '../port.ts'

/** Whoever holds the lock for so long without a word is dead: who lives says so several times meanwhile. */
const HELD_MS_MAX = 120_000
const RENEWALS = 4
const TRY_MS = 200
const WAIT_MS_MAX = 300_000

/**
 * A lock of several gateways at one bucket: an object that is made only where there is none (`If-None-Match: *`). Who waits
 * measures by its own clock how long one and the same word of a holder stands there, so that no two clocks need agree. Of
 * those who find it dead one alone removes its word: who has made `<key>-broken-<that word>`, and finds it there still.
 */
export function createBucketLock(
  s3: OuterS3,
  bucket: string,
  key: string,
  { heldMsMax = HELD_MS_MAX }: { heldMsMax?: number } = {},
) {
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

  const holderNow = async () => (await s3.read(bucket, key))?.toString('utf8') ?? null
  const isMine = (holder: string | null, mine: string) => holder?.startsWith(mine) === true

  /** Removes the word of a dead holder, unless somebody else does. @param time How often it was found dead. */
  async function breakIt(holder: string, time: number): Promise<void> {
    const broken = `${key}-broken-${holder}-${time}`
    try {
      await s3.write(bucket, broken, holder, { ifNew: true })
    } catch (error) {
      if (error instanceof OuterS3Error && error.code === 'exists') return
      throw error
    }
    if ((await holderNow()) === holder) await s3.remove(bucket, [key])
    await s3.remove(bucket, [broken])
  }

  /** Says now and then that whoever holds it lives. @returns The way to stop. */
  function keepRenewing(mine: string): () => Promise<void> {
    let times = 0
    let isHeld = true
    let renewing: Promise<void> = Promise.resolve()
    const renew = async () => {
      isHeld &&= isMine(await holderNow(), mine)
      times += 1
      if (isHeld) await s3.write(bucket, key, `${mine}-${times}`)
    }
    const timer = setInterval(() => {
      // One that fails is made up for by the next.
      renewing = renewing.then(renew).catch(() => undefined)
    }, heldMsMax / RENEWALS)
    return async () => {
      clearInterval(timer)
      await renewing
    }
  }

  async function take(mine: string): Promise<void> {
    isHonest ??= check()
    isHonest.catch(() => {
      isHonest = null
    })
    await isHonest
    const begun = performance.now()
    let seen = { holder: '', since: 0, broken: 0 }
    for (;;) {
      try {
        await s3.write(bucket, key, mine, { ifNew: true })
        // Whoever broke the one before it may have been slow.
        if (isMine(await holderNow(), mine)) return
        continue
      } catch (error) {
        if (!(error instanceof OuterS3Error && error.code === 'exists')) throw error
      }
      const now = performance.now()
      const holder = await holderNow()
      // An answer that was lost: it is ours.
      if (isMine(holder, mine)) return
      if (holder !== null && seen.holder === holder && now - seen.since > heldMsMax) {
        // Who breaks it may die over that: then the next time is somebody else's.
        await breakIt(holder, seen.broken)
        seen = { holder, since: now, broken: seen.broken + 1 }
      } else if (holder !== null && seen.holder !== holder) seen = { holder, since: now, broken: 0 }
      if (now - begun > WAIT_MS_MAX)
        throw new LayoutStoreError('unavailable', 'other gateways hold the store of images')
      await new Promise(resolve => setTimeout(resolve, TRY_MS * (0.5 + Math.random())))
    }
  }

  /** Does some work while nobody else does any. */
  return function alone<T>(work: () => Promise<T>): Promise<T> {
    const done = before.then(async () => {
      const mine = randomUUID()
      await take(mine)
      const stop = keepRenewing(mine)
      try {
        return await work()
      } finally {
        await stop()
        // Whoever took it from us meanwhile keeps it.
        if (isMine(await holderNow(), mine)) await s3.remove(bucket, [key])
      }
    })
    before = done.catch(() => undefined)
    return done
  }
}
