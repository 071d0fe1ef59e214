import { expect, test } from 'vitest'
import { StepSuperseded, StepTimedOut, withDeadline } from './deadline.ts'

const never = new AbortController().signal
const options = { deadlineMs: 30, superseded: never, graceMs: 10 }
const hang = () => new Promise<never>(() => {})

test('what is done in time is answered, and what fails in time fails as it did', async () => {
  expect(await withDeadline(options, async () => 'done')).toBe('done')
  const failing = withDeadline(options, () => Promise.reject(new Error('its own')))
  await expect(failing).rejects.toThrow('its own')
})

test('what hangs is aborted, and left behind when it does not hear that', async () => {
  const signals: AbortSignal[] = []
  const hanging = withDeadline(options, signal => {
    signals.push(signal)
    return hang()
  })
  await expect(hanging).rejects.toBeInstanceOf(StepTimedOut)
  expect(signals[0]?.aborted).toBe(true)
})

test('what is not wanted any more ends at once, and is not even begun when that was known before', async () => {
  const superseded = new AbortController()
  const working = withDeadline({ ...options, deadlineMs: 60_000, superseded: superseded.signal }, hang)
  superseded.abort()
  await expect(working).rejects.toBeInstanceOf(StepSuperseded)
  let begun = false
  const late = withDeadline({ ...options, superseded: superseded.signal }, async () => {
    begun = true
  })
  await expect(late).rejects.toBeInstanceOf(StepSuperseded)
  expect(begun).toBe(false)
})

test('an aborted call has a grace to come back before whoever waits goes on', async () => {
  let ended = false
  const slow = withDeadline({ ...options, graceMs: 5_000 }, async signal => {
    await new Promise(resolve => signal.addEventListener('abort', resolve))
    ended = true
  })
  await expect(slow).rejects.toBeInstanceOf(StepTimedOut)
  expect(ended).toBe(true)
})

test('work that shows progress is given its deadline anew', async () => {
  const steps = async (_: AbortSignal, prolong: () => void) => {
    for (let step = 0; step < 6; step += 1) {
      await new Promise(resolve => setTimeout(resolve, 10))
      prolong()
    }
    return 'done'
  }
  expect(await withDeadline(options, steps)).toBe('done')
})
