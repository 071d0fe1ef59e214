import { expect, test } from 'vitest'
import { systemClock } from '../../platform/clock.ts'
import { systemIds } from '../../platform/ids.ts'
import type { Operated } from '../operated.ts'
import { createOperatorFixture } from '../type-commands-fixture.ts'

// Goal: what customers call themselves and their things is read by operators, and obeyed by no terminal (R6.5).
// Method: names as a database could have them, whatever checks they met on their way into it; every stream of every command
// is looked at for what a terminal obeys, and JSON for whether it still says the same.

/** Sets the window's title, clears the screen by one byte of C1, turns what follows around, and ends the line. */
const NAME = 'Ada\u001b]0;evil\u0007\u009b2J\u202Enimda\u2028\nNUMBER  ADDRESS'
const EMAIL = 'ada\u009b31m@example.org'
const account = {
  ...{ id: '0193aaaa-0000-7000-8000-000000000001', number: 100_001, email: EMAIL, displayName: NAME },
  ...{ language: 'en', emailVerifiedAt: new Date(0), createdAt: new Date(0), deletedAt: null },
}
const installation = {
  identity: {
    customerNamed: async () => account.id,
    desk: {
      find: async () => [account],
      show: async () => ({ account, sessions: 1, suspension: null }),
      suspend: async () => {
        throw new Error(`${NAME} holds a lock`)
      },
    },
  },
  instances: { list: async () => [] },
} as unknown as Operated

const OBEYED = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u
const SUSPEND = ['customers', 'suspend', EMAIL, '--reason', 'why']

test.each([
  ['a table', ['customers', 'find', 'ada']],
  ['JSON', ['customers', 'find', 'ada', '--json']],
  ['what would be done', [...SUSPEND, '--dry-run']],
  ['what would be done, as JSON', [...SUSPEND, '--dry-run', '--json']],
  ['what is to be confirmed', SUSPEND],
  ['an error', [...SUSPEND, '--yes']],
  ['words that are not understood', ['customers', NAME]],
])('[R6.5] a terminal obeys nothing of %s', async (_, words) => {
  const operator = createOperatorFixture({ clock: systemClock, ids: systemIds, installation })
  const { out, err } = await operator.type(...words)
  expect(`${out}${err}`).toMatch(/ada|Ada/)
  expect(`${out}${err}`).not.toMatch(OBEYED)
})

test('[R6.5] whoever is asked to type a name is asked without what a terminal obeys', async () => {
  const asked: string[] = []
  const operator = createOperatorFixture({
    ...{ clock: systemClock, ids: systemIds, installation, answer: '' },
    heard: question => asked.push(question),
  })
  expect((await operator.type(...SUSPEND)).exit).toBe(4)
  expect(asked).toHaveLength(1)
  expect(asked.join()).not.toMatch(OBEYED)
})

test('[R6.5] a name of somebody takes one line of a table', async () => {
  const operator = createOperatorFixture({ clock: systemClock, ids: systemIds, installation })
  expect((await operator.type('customers', 'find', 'ada')).out.split('\n')).toHaveLength(3)
})

test('[R6.5] JSON says names as they are', async () => {
  const operator = createOperatorFixture({ clock: systemClock, ids: systemIds, installation })
  expect(await operator.json('customers', 'find', 'ada')).toMatchObject([
    { display_name: NAME, email: EMAIL },
  ])
})
