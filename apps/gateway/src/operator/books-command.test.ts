import { expect, test } from 'vitest'
import { checkBooks } from './books-command.ts'

test('[B2] an operator is told each difference of the books, and that there is one', async () => {
  const answer = await checkBooks({ checkBooks: async () => ['one: 7 in the row, 0 by its transfers'] })
  expect(answer).toEqual({
    data: { balanced: false, problems: ['one: 7 in the row, 0 by its transfers'] },
    text: 'one: 7 in the row, 0 by its transfers\n',
    failed: true,
  })
})

test('[B2] an operator is told that the books balance', async () => {
  const answer = await checkBooks({ checkBooks: async () => [] })
  expect(answer).toEqual({
    data: { balanced: true, problems: [] },
    text: 'The books balance.\n',
    failed: false,
  })
})
