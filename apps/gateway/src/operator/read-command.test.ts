import { describe, expect, test } from 'vitest'
import { readCommand } from './read-command.ts'
import { UsageError } from './usage.ts'

describe('[R6.5] what an operator types', () => {
  test.each([
    ['images queue', { group: 'images', act: 'queue', json: false }],
    ['images queue --json', { group: 'images', act: 'queue', json: true }],
    ['images reports', { group: 'images', act: 'reports', json: false }],
    [
      'images show-reports im-abcdefg',
      { group: 'images', act: 'show-reports', id: 'im-abcdefg', json: false },
    ],
    [
      'images close-reports im-abcdefg',
      { group: 'images', act: 'close-reports', id: 'im-abcdefg', json: false },
    ],
    ['images show im-abcdefg', { group: 'images', act: 'show', id: 'im-abcdefg', json: false }],
    [
      'images approve im-abcdefg --seen 3f',
      { group: 'images', act: 'approve', id: 'im-abcdefg', seen: '3f', json: false },
    ],
    [
      'images reject im-abcdefg --reason=why',
      { group: 'images', act: 'reject', id: 'im-abcdefg', reason: 'why', json: false },
    ],
    [
      'images take-down im-abcdefg --reason=why',
      { group: 'images', act: 'take-down', id: 'im-abcdefg', reason: 'why', json: false },
    ],
    ['books check --json', { group: 'books', act: 'check', json: true }],
    ['', null],
    ['--help', null],
  ])('%s', (typed, wanted) => {
    expect(readCommand(typed.split(' ').filter(word => word !== ''))).toEqual(wanted)
  })

  test.each([
    ['volumes queue', /no volumes here/],
    ['books', /cannot do nothing/],
    ['books burn', /cannot burn/],
    ['books check all', /too much/],
    ['books check --seen 3f', /goes with approve/],
    ['images', /Usage/],
    ['images burn im-abcdefg', /cannot burn/],
    ['images reports im-abcdefg', /too much/],
    ['images close-reports', /id is missing/],
    ['images approve', /id is missing/],
    ['images approve im-abcdefg im-bcdefgh', /too much/],
    ['images approve im-abcdefg', /--seen/],
    ['images approve im-abcdefg --seen=', /--seen/],
    ['images show im-abcdefg --seen 3f', /goes with approve/],
    ['images approve im-abcdefg --reason=x', /goes with reject/],
    ['images reject im-abcdefg', /Say why/],
    ['images reject im-abcdefg --reason=', /Say why/],
    [`images reject im-abcdefg --reason=${'x'.repeat(501)}`, /at most 500/],
    ['images queue --jsn', /jsn/],
  ])('%s is refused in words', (typed, words) => {
    const read = () => readCommand(typed.split(' '))
    expect(read).toThrow(UsageError)
    expect(read).toThrow(words)
  })
})
