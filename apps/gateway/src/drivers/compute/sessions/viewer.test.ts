import { Duplex } from 'node:stream'
import { expect, test } from 'vitest'
import { createOutputPump } from './output-pump.ts'
import { SESSION_LIMITS } from './session-limits.ts'
import { createViewer } from './viewer.ts'

test('a shell that writes byte by byte waits for a gateway that takes nothing, before its frames fill the memory', async () => {
  const waiting: (() => void)[] = []
  let isTaking = false
  const stream = new Duplex({
    read: () => undefined,
    write: (_chunk, _encoding, done) => {
      if (isTaking) done()
      else waiting.push(done)
    },
  })
  let isPaused = false
  const pump = createOutputPump(SESSION_LIMITS, {
    pause: () => {
      isPaused = true
    },
    resume: () => {
      isPaused = false
    },
  })
  const viewer = createViewer(stream, SESSION_LIMITS)
  viewer.listen({
    onInput: () => undefined,
    onResize: () => undefined,
    onProgress: () => pump.progress(viewer),
    onClose: () => undefined,
  })
  pump.show(viewer)
  let frames = 0
  for (; !isPaused && frames < 200_000; frames++) {
    pump.take(Buffer.from('x'))
    pump.flush()
  }
  // Each takes far more than the six bytes that it has.
  expect(frames).toBeLessThan(SESSION_LIMITS.unackedHighBytes / 200)
  isTaking = true
  waiting.pop()?.()
  await expect.poll(() => isPaused).toBe(false)
  pump.stop()
  stream.destroy()
})
