import { LOG_BYTES_MAX, LOG_LINES_MAX } from '@berth/contract/limits'
import { expect, test } from 'vitest'
import { encodeAnswer } from '../../drivers/compute/port/answers.ts'
import { FRAME_GATHERED_BYTES_MAX } from '../../drivers/compute/sessions/frames.ts'
import { plainLog } from './plain-log.ts'

test.each([
  ['colours', '\u001b[1;31mred\u001b[0m and \u001b[38;2;1;2;3mblue', 'red and blue'],
  ['a title and a link', '\u001b]0;mine\u0007a \u001b]8;;http://x/\u001b\\link\u001b]8;;\u001b\\', 'a link'],
  ['a sequence that never ends', 'a\u001b]0;mine\nb\u001b[', 'a\nb'],
  ['moves of the cursor and another charset', '\u001b(Ba\u001b[2J\u001b[Hb\u001bc', 'ab'],
  ['progress that is written over', '10 %\r 50 %\r100 %\r\nnext\r\n', '100 %\nnext'],
  ['bells, backspaces and marks of direction', 'a\u0007b\bc\u202ed\u2066\u0085\tz', 'abcd\tz'],
  ['nothing', '', ''],
])('%s are left out of a log, and its words stay', (_what, raw, text) => {
  expect(plainLog(raw)).toEqual({ text, cut: false })
})

test('the last lines are shown, and that there were more', () => {
  const lines = Array.from({ length: LOG_LINES_MAX + 1 }, (_, at) => `line ${at}`)
  expect(plainLog(lines.join('\n'))).toEqual({ text: lines.slice(1).join('\n'), cut: true })
  expect(plainLog(`${lines.slice(1).join('\n')}\n`)).toEqual({ text: lines.slice(1).join('\n'), cut: false })
})

test.each([
  ['quotes', '"'.repeat(10_000_000)],
  ['long lines', 'ü'.repeat(100_000)],
  ['escapes', '\u001b['.repeat(1_000_000)],
  ['half of an escape', '\u001b]'.repeat(1_000_000)],
  ['line feeds', '\n'.repeat(1_000_000)],
])('whatever a machine writes, such as %s, fits a frame between gateways', (_what, raw) => {
  const log = plainLog(raw)
  expect(Buffer.byteLength(log.text)).toBeLessThanOrEqual(LOG_BYTES_MAX)
  expect(log.text).not.toContain('\ufffd')
  expect(encodeAnswer(log).length).toBeLessThan(FRAME_GATHERED_BYTES_MAX)
})
