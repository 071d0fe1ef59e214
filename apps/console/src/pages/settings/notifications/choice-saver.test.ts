import type { NotificationChoice } from '@berth/contract/notifications'
import { expect, test } from 'vitest'
import { createChoiceSaver, type SaverState } from './choice-saver.ts'

test('[R1.7] a choice is sent at once and said to be kept when the gateway has answered', async () => {
  const world = makeWorld()
  world.saver.save(choiceOf([24]))
  expect(world.steps()).toEqual(['saving'])
  await world.answer()
  expect(world.sent).toEqual([[24]])
  expect(world.steps()).toEqual(['saving', 'saved'])
})

test('choices that are made while one is under way go out one by one, only the last of them, after it', async () => {
  const world = makeWorld()
  world.saver.save(choiceOf([24]))
  world.saver.save(choiceOf([24, 3]))
  world.saver.save(choiceOf([3]))
  expect(world.sent).toEqual([[24]])
  await world.answer()
  expect(world.sent).toEqual([[24], [3]])
  expect(world.steps()).toEqual(['saving'])
  await world.answer()
  expect(world.steps()).toEqual(['saving', 'saved'])
})

test('a failure keeps what was chosen, and trying again sends it', async () => {
  const world = makeWorld()
  world.saver.save(choiceOf([6]))
  await world.fail('Network connection failed')
  expect(world.states.at(-1)).toMatchObject({
    step: 'failed',
    error: { message: 'Network connection failed' },
  })
  world.saver.retry()
  await world.answer()
  expect(world.sent).toEqual([[6], [6]])
  expect(world.steps().at(-1)).toBe('saved')
  world.saver.retry()
  expect(world.sent).toHaveLength(2)
})

test('a failure behind a newer choice is no failure: the newer one is sent', async () => {
  const world = makeWorld()
  world.saver.save(choiceOf([6]))
  world.saver.save(choiceOf([1]))
  await world.fail('lost')
  await world.answer()
  expect(world.sent).toEqual([[6], [1]])
  expect(world.steps()).toEqual(['saving', 'saved'])
})

function makeWorld() {
  const sent: number[][] = []
  const states: SaverState[] = []
  const open: PromiseWithResolvers<void>[] = []
  const saver = createChoiceSaver({
    send: choice => {
      sent.push([...choice.alert_hours])
      const answer = Promise.withResolvers<void>()
      open.push(answer)
      return answer.promise
    },
    onState: state => states.push(state),
  })
  const settle = async (end: (answer: PromiseWithResolvers<void>) => void) => {
    const answer = open.shift()
    if (!answer) throw new Error('Nothing is under way.')
    end(answer)
    // The saver goes on in the tasks that follow the answer.
    await new Promise(resolve => setImmediate(resolve))
  }
  return {
    saver,
    sent,
    states,
    steps: () => states.map(({ step }) => step),
    answer: () => settle(answer => answer.resolve()),
    fail: (message: string) => settle(answer => answer.reject(new Error(message))),
  }
}

function choiceOf(hours: NotificationChoice['alert_hours']): NotificationChoice {
  const mails = { new_sign_in: true, key_added: true, top_up_receipt: true, instance_trouble: true }
  return { mails: { ...mails, balance_low: true, offer_watch: true }, alert_hours: hours }
}
