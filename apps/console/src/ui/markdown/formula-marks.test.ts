import { describe, expect, test } from 'vitest'
import { setFormulasApart } from './formula-marks.ts'

const texOf = (text: string) => setFormulasApart(text).formulas.map(({ tex }) => tex.trim())

describe('formulas of a text', () => {
  test.each([
    ['Einstein: $E = mc^2$.', ['E = mc^2']],
    ['both $a$, and ($b$)', ['a', 'b']],
    ['**$x$** or “$y$”', ['x', 'y']],
    ['因为$x$是', ['x']],
    ['$$\\int_0^1 x\\,dx$$', ['\\int_0^1 x\\,dx']],
    ['So:\n\n\\[\na = b\n+ c\n\\]\n\nand \\(d\\).', ['a = b\n+ c', 'd']],
    ['1. \\[ x \\]\n2. $$y$$', ['x', 'y']],
    ['> $$\n> x\n> $$', ['x']],
    ['$\\$5 + x$', ['\\$5 + x']],
  ])('are found as models write them: %j', (text, tex) => {
    expect(texOf(text)).toEqual(tex)
  })

  test.each([
    'It costs $5 and $10.',
    'from $5 to $10',
    '$5-$10',
    'US$5/A$7',
    '$HOME/$USER and $PATH',
    '$5, or 10$ for two',
    'escaped \\$x\\$',
    'a price of $ 5 $',
    '`$x$` and ``$y$``',
    '```sh\necho $x $y\n$z$\n```',
    '- ```\n  $x$\n  ```',
    '~~~\n\\(x\\)',
    'notes \\[1\\] and \\[2\\](x)',
    'https://example.org/?a=$1&b=$x$',
    'a $\n\nb$',
    'an open $x',
  ])('are no sums of money, code, variables, or brackets: %j', text => {
    expect(texOf(text)).toEqual([])
  })

  test('a sum of money before a formula does not swallow it', () => {
    expect(texOf('For $5 you get $x^2$ pieces, for $10 more.')).toEqual(['x^2'])
  })

  test('one that is still being written is known as such, so that nothing is made of half of it', () => {
    expect(setFormulasApart('So\n\n$$\n\\frac{1}{').formulas).toMatchObject([
      { isClosed: false, isDisplay: true },
    ])
    expect(setFormulasApart('So \\(a + ').formulas).toMatchObject([{ isClosed: false, isDisplay: false }])
    expect(setFormulasApart('a\n\n\\(b\n\nmore').formulas).toEqual([])
  })

  test('what looks like a mark of ours is none', () => {
    const { text, formulas } = setFormulasApart('\uE0000\uE000 and $x$')
    expect(formulas).toHaveLength(1)
    expect(text).toBe('0 and \uE0000\uE000')
  })

  test('texts made to take long do not', () => {
    for (const text of ['$a ', '\\(', '\\[', '$$', '` `` ', '\n> $$', '\\', '$'].map(one =>
      one.repeat(60_000),
    )) {
      const before = performance.now()
      setFormulasApart(text)
      expect(performance.now() - before, text.slice(0, 6)).toBeLessThan(4_000)
    }
  })
})
