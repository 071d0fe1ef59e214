import { expect, test } from 'vitest'
import { byteRangeOf } from './byte-range.ts'

test.each([
  ['nothing', undefined, null],
  ['all from the beginning', 'bytes=0-', { from: 0, last: 99 }],
  ['a part', 'bytes=10-19', { from: 10, last: 19 }],
  ['more than there is', 'bytes=10-999', { from: 10, last: 99 }],
  ['the end', 'bytes=-5', { from: 95, last: 99 }],
  ['more of the end than there is', 'bytes=-500', { from: 0, last: 99 }],
  ['nothing of the end', 'bytes=-0', 'none'],
  ['what is past the end', 'bytes=100-', 'none'],
  ['a part that goes backwards', 'bytes=9-3', null],
  ['several parts', 'bytes=0-1,5-6', null],
  ['another unit', 'lines=0-1', null],
  ['no range', 'bytes=-', null],
] as const)('a player that asks for %s', (_, header, range) => {
  expect(byteRangeOf(header, 100)).toEqual(range)
})
