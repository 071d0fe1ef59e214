import pino from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { watchDisk } from './watch-disk.ts'

const MB = 1024 ** 2

test('a disk that stays short costs one machine, and another only when it goes on shrinking', async () => {
  let leftMb = 500
  let looks = 0
  const running = new Set(['greedy', 'innocent', 'modest'])
  const share = { greedy: 90, innocent: 40, modest: 1 }
  const stopped: string[] = []
  const watch = watchDisk({
    log: pino({ level: 'silent' }),
    async room() {
      looks += 1
      const leftBytes = leftMb * MB
      return { isShort: leftMb < 200, left: `${leftMb} MB`, leftBytes, leftFiles: 1_000_000 }
    },
    takers: async () =>
      Object.entries(share)
        .filter(([id]) => running.has(id))
        .map(([id, taken]) => ({ id, taken, diskGb: 1 })),
    async stop(id) {
      stopped.push(id)
      running.delete(id)
      // What it wrote until then is gone, too.
      leftMb -= 80
    },
  })
  onTestFinished(() => watch.close())
  const seen = async (more: number) => {
    const until = looks + more
    await expect.poll(() => looks).toBeGreaterThanOrEqual(until)
  }
  await seen(1)
  leftMb = 190
  await expect.poll(() => stopped).toEqual(['greedy'])
  await seen(3)
  expect(stopped).toEqual(['greedy'])
  leftMb -= 70
  await expect.poll(() => stopped).toEqual(['greedy', 'innocent'])
  await seen(2)
  expect(stopped).toEqual(['greedy', 'innocent'])
})
