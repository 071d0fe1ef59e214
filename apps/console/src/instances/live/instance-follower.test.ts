import type { InstancesEvent } from '@berth/contract/instance-follow'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createInstanceFollower } from './instance-follower.ts'

// Goal: one stream while it is wanted and seen; where it cannot be had it is tried again, later each time. Method: a
// stream that the test ends, and time that the test lets pass.

const FIRST: InstancesEvent = { instances: [], gone: [], reread: true, ended: null }

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function tab() {
  const visibility = new EventTarget()
  const back = new EventTarget()
  const on = (target: EventTarget) => (listener: () => void) => {
    target.addEventListener('change', listener)
    return () => target.removeEventListener('change', listener)
  }
  const streams: {
    tell: (event: InstancesEvent) => void
    end: (error?: Error) => void
    signal: AbortSignal
  }[] = []
  const put: InstancesEvent[] = []
  let isVisible = true
  const follower = createInstanceFollower({
    follow: ({ signal, onEvent }) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')))
        streams.push({ tell: onEvent, end: error => (error ? reject(error) : resolve()), signal })
      }),
    put: event => put.push(event),
    isVisible: () => isVisible,
    onVisible: on(visibility),
    onBack: on(back),
    now: () => Date.now(),
    random: () => 0.5,
  })
  return {
    follower,
    streams,
    put,
    newest: () => streams.at(-1) ?? expect.fail('there is no stream'),
    open: () => streams.filter(({ signal }) => !signal.aborted).length,
    show(visible: boolean) {
      isVisible = visible
      visibility.dispatchEvent(new Event('change'))
    },
    comeBack: () => back.dispatchEvent(new Event('change')),
    pass: (ms: number) => vi.advanceTimersByTimeAsync(ms),
  }
}

test('[B6] a tab has one stream, however many parts of its pages want it', async () => {
  const { follower, streams, newest, open } = tab()
  const stops = [follower.want(), follower.want(), follower.want()]
  expect(streams).toHaveLength(1)
  newest().tell(FIRST)
  expect(follower.isLive()).toBe(true)
  stops[0]?.()
  stops[1]?.()
  expect(open()).toBe(1)
  expect(follower.isLive()).toBe(true)
})

test('[R4.11] a page that is left takes its stream with it, and the next page begins its own', async () => {
  const { follower, newest, open, streams } = tab()
  const leave = follower.want()
  newest().tell(FIRST)
  leave()
  expect(open()).toBe(0)
  expect(follower.isLive()).toBe(false)
  follower.want()
  expect(streams).toHaveLength(2)
  expect(follower.isLive()).toBe(false)
})

test('[R9.2] a tab that is hidden follows nothing, and one that is seen again does', async () => {
  const { follower, newest, open, show, streams, pass } = tab()
  follower.want()
  newest().tell(FIRST)
  show(false)
  expect(open()).toBe(0)
  expect(follower.isLive()).toBe(false)
  await pass(600_000)
  expect(streams).toHaveLength(1)
  show(true)
  expect(open()).toBe(1)
})

test('[B6] it is live from the first event on, and not before: something on the way may hold answers back', async () => {
  const { follower, newest, open, pass, streams } = tab()
  follower.want()
  await pass(4_900)
  expect([follower.isLive(), open()]).toEqual([false, 1])
  await pass(200)
  expect(open()).toBe(0)
  await pass(3_000)
  expect(streams).toHaveLength(2)
  newest().tell(FIRST)
  expect(follower.isLive()).toBe(true)
})

/** Lets time pass until there is another stream. @returns How long that took. */
async function untilNext({ streams, pass }: ReturnType<typeof tab>): Promise<number> {
  const count = streams.length
  let ms = 0
  for (; streams.length === count; ms += 500) await pass(500)
  return ms
}

test('[B6] what cannot be had is tried again, later each time, and at once when the gateway is back', async () => {
  const page = tab()
  page.follower.want()
  const waits: number[] = []
  for (let nth = 0; nth < 6; nth++) {
    page.newest().end(new Error('refused'))
    waits.push(await untilNext(page))
  }
  expect(waits).toEqual([2_000, 5_000, 15_000, 60_000, 60_000, 60_000])
  page.newest().end(new Error('refused'))
  await page.pass(1_000)
  const count = page.streams.length
  page.comeBack()
  await page.pass(0)
  expect(page.streams).toHaveLength(count + 1)
  expect(page.follower.isLive()).toBe(false)
})

test('[B6] one that breaks each time soon after it began is no better than one that cannot be had', async () => {
  const page = tab()
  page.follower.want()
  const waits: number[] = []
  for (const lastsMs of [1_000, 1_000, 1_000, 300_000, 1_000]) {
    page.newest().tell(FIRST)
    await page.pass(lastsMs)
    expect(page.follower.isLive()).toBe(true)
    page.newest().end()
    waits.push(await untilNext(page))
    expect(page.follower.isLive()).toBe(false)
  }
  expect(waits).toEqual([2_000, 5_000, 15_000, 1_000, 2_000])
})

test('[B6] [B22] a gateway that ends is left for another one almost at once', async () => {
  const { follower, newest, streams, pass, put } = tab()
  follower.want()
  newest().tell(FIRST)
  newest().tell({ ...FIRST, reread: false, ended: 'gateway' })
  newest().end()
  expect(follower.isLive()).toBe(false)
  await pass(500)
  expect(streams).toHaveLength(2)
  newest().tell(FIRST)
  expect(follower.isLive()).toBe(true)
  // What was missed between the two is read again.
  expect(put.at(-1)?.reread).toBe(true)
})

test('[B12] a session that is over is not live any more', async () => {
  const { follower, newest } = tab()
  follower.want()
  newest().tell(FIRST)
  newest().tell({ ...FIRST, reread: false, ended: 'session' })
  expect(follower.isLive()).toBe(false)
})
