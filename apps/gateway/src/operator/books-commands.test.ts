import { expect, test } from 'vitest'
import { systemClock } from '../platform/clock.ts'
import { systemIds } from '../platform/ids.ts'
import type { Operated } from './operated.ts'
import { createOperatorFixture } from './type-commands-fixture.ts'

const operatorOf = (problems: string[]) =>
  createOperatorFixture({
    ...{ clock: systemClock, ids: systemIds },
    installation: { billing: { checkBooks: async () => problems } as unknown as Operated['billing'] },
  })

test('[B2] an operator is told each difference of the books, and that there is one', async () => {
  const { type } = operatorOf(['one: 7 in the row, 0 by its transfers'])
  expect(await type('books check')).toEqual({
    ...{ exit: 1, err: '' },
    out: 'one: 7 in the row, 0 by its transfers\n',
  })
  expect(JSON.parse((await type('books check --json')).out)).toEqual({
    balanced: false,
    problems: ['one: 7 in the row, 0 by its transfers'],
  })
})

test('[B2] an operator is told that the books balance', async () => {
  expect(await operatorOf([]).type('books check')).toEqual({ exit: 0, err: '', out: 'The books balance.\n' })
})
