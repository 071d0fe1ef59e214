import { ENV_VARIABLES_MAX } from '@berth/contract/limits'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DOTENV_CHARS_MAX, parseDotenv, type Variable } from './parse-dotenv.ts'

const read = (text: string) =>
  Object.fromEntries(parseDotenv(text).variables.map(({ name, value }) => [name, value]))

describe('a pasted .env', () => {
  test.each([
    ['a comment and a blank line', '# about\n\n  # more\nA=1', { A: '1' }],
    ['export, and blanks around it all', '  export   A = 1  \n\texport B=2', { A: '1', B: '2' }],
    ['= in a value', 'URL=https://x.example/?a=b&c==', { URL: 'https://x.example/?a=b&c==' }],
    ['line ends of Windows, and of old Macs', 'A=1\r\nB=2\rC=3', { A: '1', B: '2', C: '3' }],
    ['the mark that some editors put in front', '\uFEFFA=1', { A: '1' }],
    ['a name that comes again: the last counts', 'A=1\nB=2\nA=3', { A: '3', B: '2' }],
    ['an empty value, quoted or not', 'A=\nB=""\nC= # nothing', { A: '', B: '', C: '' }],
    ['a comment behind a value', 'A=1 # one\nB=x#y\nC="#1" # two', { A: '1', B: 'x#y', C: '#1' }],
    [
      'escapes in double quotes alone',
      'A="1\\n\\"2\\"\\\\\\$"\nB=\'1\\n\'\nC=`"\'`',
      { A: '1\n"2"\\$', B: '1\\n', C: '"\'' },
    ],
    ['a value over several lines', 'KEY="-----\nabc==\n-----"\nB=2', { KEY: '-----\nabc==\n-----', B: '2' }],
    ['a quote that is never closed', 'A="1\nB=2', { A: '"1', B: '2' }],
    ['a value that goes on behind its quote', 'A="1"2\nB=3', { A: '"1"2', B: '3' }],
    ['$NAME, which stands for nothing', 'A=$HOME/$B', { A: '$HOME/$B' }],
    ['a name that is none, for the rule on names to refuse', '1BAD NAME=x', { '1BAD NAME': 'x' }],
  ])('is read with %s', (_what, text, variables) => {
    expect(read(text)).toEqual(variables)
  })

  test('says which lines are no variables, counted as an editor counts them', () => {
    const { unread, variables } = parseDotenv('A="1\n2"\nnothing\n# fine\n=x\nB=2')
    expect(unread).toEqual([3, 5])
    expect(variables.map(({ name }) => name)).toEqual(['A', 'B'])
  })

  test('is read as far as an instance may have variables, and a text beyond all measure not at all', () => {
    const lines = Array.from({ length: ENV_VARIABLES_MAX + 3 }, (_, at) => `V${at}=${at}`)
    expect(parseDotenv(lines.join('\n'))).toMatchObject({ left: 3, tooLong: false })
    expect(parseDotenv(lines.join('\n')).variables).toHaveLength(ENV_VARIABLES_MAX)
    const long = parseDotenv(`A=${'x'.repeat(DOTENV_CHARS_MAX)}`)
    expect(long).toEqual({ variables: [], unread: [], left: 0, tooLong: true })
  })

  test('gives back whatever was written, with any line ends', () => {
    const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,12}$/)
    // A carriage return is written as one: as a part of a line end it would be none any more.
    const value = fc.string({ unit: fc.constantFrom(...'aé= #"\'`\\$\n\r\t🚢n') })
    const variables = fc.uniqueArray(fc.record({ name, value }), { selector: one => one.name, maxLength: 8 })
    fc.assert(
      fc.property(variables, fc.constantFrom('\n', '\r\n'), fc.boolean(), (written, end, exported) => {
        const line = ({ name, value }: Variable) =>
          `${exported ? 'export ' : ''}${name}=${quoted(value)} # note`
        expect(parseDotenv(written.map(line).join(end))).toMatchObject({ variables: written, unread: [] })
      }),
    )
  })

  test('of any text at all comes to a bounded number of variables that are parts of it', () => {
    const text = fc.string({ unit: fc.constantFrom(...'AB=\n\r"\'`#\\ export'), maxLength: 400 })
    fc.assert(
      fc.property(text, pasted => {
        const { variables, unread } = parseDotenv(pasted)
        expect(variables.length).toBeLessThanOrEqual(ENV_VARIABLES_MAX)
        for (const { name, value } of variables) {
          expect(pasted).toContain(name)
          expect(value.length).toBeLessThanOrEqual(pasted.length)
        }
        expect(Math.max(0, ...unread)).toBeLessThanOrEqual(pasted.split(/\r\n?|\n/).length)
      }),
    )
  })
})

function quoted(value: string): string {
  return `"${value.replace(/[\\"$]/g, found => `\\${found}`).replaceAll('\r', '\\r')}"`
}
