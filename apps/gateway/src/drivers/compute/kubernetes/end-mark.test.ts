import { expect, test } from 'vitest'
import { createEndMark } from './end-mark.ts'

/** All that comes out, and the code, however it was cut. */
function readIn(pieces: (nonce: string) => string[]) {
  const mark = createEndMark()
  let out = ''
  let code: number | null = null
  for (const piece of pieces(mark.nonce)) {
    const read = mark.read(Buffer.from(piece, 'latin1'))
    out += read.rest.toString('latin1')
    code ??= read.code
  }
  return { out: out + mark.rest().toString('latin1'), code }
}

test.each([1, 2, 3, 7, 64])(
  'an end is found, and nothing of it shown, where errors come in pieces of %d',
  size => {
    const read = readIn(nonce => {
      const all = `error\0 and more\n\0${nonce} 137\nlast words`
      return all.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
    })
    expect(read).toEqual({ out: 'error\0 and more\nlast words', code: 137 })
  },
)

test('what only looks like an end is passed on', () => {
  expect(readIn(nonce => [`\0${nonce.slice(0, 9)}`, '\n', `\0${'0'.repeat(24)} 0\n`])).toMatchObject({
    code: null,
  })
  const { out } = readIn(nonce => [`a\0${nonce} 1`])
  expect(out).toMatch(/^a\0[0-9a-f]{24} 1$/)
})
