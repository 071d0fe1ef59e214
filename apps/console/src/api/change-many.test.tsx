import { startInstance, stopInstance } from '@berth/contract/instances'
import { expect, test } from 'vitest'
import { answerCalls, Refusal, type Sent } from '../gateway-fixture.tsx'
import { type Outcome, sendChanges } from './change-many.ts'

const ids = (count: number) => Array.from({ length: count }, (_, at) => `i-${String(at).padStart(6, '0')}`)
const stops = (count: number) => ids(count).map(id => ({ key: id, input: { params: { id } } }))

/** Sends, and gives what came of each and the most that were under way at a time. */
async function carryOut(answers: (sent: Sent) => unknown, count: number, abort = new AbortController()) {
  const outcomes = new Map<string, Outcome>()
  let [underWay, most] = [0, 0]
  const { sent } = await answerCalls({
    [stopInstance.operation]: async request => {
      underWay += 1
      most = Math.max(most, underWay)
      await Promise.resolve()
      const answer = await answers(request)
      underWay -= 1
      return answer
    },
  })
  const changes = stops(count)
  const onOutcome = (key: string, outcome: Outcome) => void outcomes.set(key, outcome)
  await sendChanges(stopInstance, { changes, onOutcome, signal: abort.signal, pauseMs: 0 })
  const states = changes.map(({ key }) => outcomes.get(key)?.state)
  return {
    outcomes,
    states,
    most,
    stopped: sent.filter(({ operation }) => operation === stopInstance.operation),
  }
}

const accepted = () => ({ instance_id: 'i-000000', status: 'stopping' })

test('[R4.5] each of fifty is its own call, a few at a time, and one that is refused stops no other', async () => {
  const { states, outcomes, most, stopped } = await carryOut(
    ({ path }) => (path.includes('i-000007/') ? new Refusal([], 'instance_state', 409) : accepted()),
    50,
  )
  expect(stopped).toHaveLength(50)
  expect(most).toBeLessThanOrEqual(4)
  expect(states.filter(state => state === 'done')).toHaveLength(49)
  expect(outcomes.get('i-000007')).toEqual({ state: 'failed', message: 'refused: instance_state' })
})

test('a limit of calls per minute breaks no selection: what came too often is sent again after a pause', async () => {
  let left = 20
  const { states, stopped } = await carryOut(() => {
    left -= 1
    // A window that is full for a while, then free again.
    return left < 0 && left > -10 ? new Refusal([], 'too_many_requests', 429) : accepted()
  }, 50)
  expect(new Set(states)).toEqual(new Set(['done']))
  expect(stopped).toHaveLength(50 + 9)
})

test('where nobody answers the rest is not sent, and neither is it once it was called off', async () => {
  let answered = 0
  const lost = await carryOut(() => {
    answered += 1
    if (answered > 10) throw new TypeError('Failed to fetch')
    return accepted()
  }, 50)
  expect(lost.states.filter(state => state === 'done')).toHaveLength(10)
  expect(lost.states.filter(state => state === 'left').length).toBeGreaterThan(30)
  expect(lost.stopped.length).toBeLessThan(20)

  const abort = new AbortController()
  let begun = 0
  const calledOff = await carryOut(
    () => {
      begun += 1
      if (begun === 6) abort.abort()
      return accepted()
    },
    50,
    abort,
  )
  expect(calledOff.states.filter(state => state === 'done').length).toBeLessThan(12)
  expect(calledOff.states.at(-1)).toBe('left')
})

test('[B3] what spends has a key of its own for each, the same one when its answer was lost', async () => {
  const keys = new Map<string, (string | null)[]>()
  let isLost = true
  await answerCalls({
    [startInstance.operation]: ({ body, idempotencyKey }) => {
      const { instance_id } = body as { instance_id: string }
      keys.set(instance_id, [...(keys.get(instance_id) ?? []), idempotencyKey])
      if (isLost) return new Response('', { status: 502 })
      return { instance_id, status: 'creating' }
    },
  })
  const changes = ids(10).map(key => ({
    key,
    input: { body: { instance_id: key, gpu_count: 1, gpu_spec_id: 'cpu' } },
  }))
  const send = () =>
    sendChanges(startInstance, { changes, onOutcome: () => undefined, signal: new AbortController().signal })
  await send()
  isLost = false
  await send()
  await send()
  const all = [...keys.values()]
  expect(all).toHaveLength(10)
  for (const [first, again, later] of all) {
    expect(first).toMatch(/^\w{32}$/)
    expect(again).toBe(first)
    expect(later).not.toBe(first)
  }
  expect(new Set(all.map(([first]) => first)).size).toBe(10)
})
