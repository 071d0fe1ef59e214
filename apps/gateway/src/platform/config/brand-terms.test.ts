import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LANGUAGES } from '@berth/contract/limits'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readBrandFiles } from './brand-files.ts'
import { brands } from './brands.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-terms-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The terms of a brand whose row in the catalogue says so. */
function termsOf(row: { name?: string; terms?: unknown }) {
  const list = brands.parse([{ hosts: ['default'], name: 'North', docs_url: '/docs', ...row }])
  return readBrandFiles(list, folder)[0]?.terms
}
const written = (text: string | Uint8Array, file = 'terms.md'): string => {
  writeFileSync(join(folder, file), text)
  return file
}
const linksOf = (html: string) => Array.from(html.matchAll(/href="([^"]+)"/g), ([, href]) => href)

test.each(LANGUAGES)(
  '[R1.9] plain terms come with the gateway in %s, with the brand’s name in them',
  language => {
    const { url, html } = termsOf({}) ?? {}
    expect(url).toBe('/terms')
    const text = html?.[language] ?? ''
    expect(text).toContain('North')
    for (const tag of ['h2', 'li']) {
      const count = (of: string) => of.split(`<${tag}>`).length
      expect(count(text)).toBe(count(html?.en ?? ''))
    }
    expect(linksOf(text)).toEqual(linksOf(html?.en ?? ''))
    if (language !== 'en') expect(text).not.toBe(html?.en)
  },
)

test('a brand has terms of its own in a file, or one for each language; what it lacks is said in English', () => {
  const one = termsOf({ terms: written('# Ours\n\nBe kind.\n\n## Else') })
  expect(one?.html).toEqual(Object.fromEntries(LANGUAGES.map(name => [name, one?.html?.en])))
  // The page has a title: headings begin below it, whichever depth the file begins with.
  expect(one?.html?.en).toBe('<h2>Ours</h2>\n<p>Be kind.</p>\n<h3>Else</h3>\n')
  const two = termsOf({ terms: { en: 'terms.md', ja: written('親切に。', 'ja.md') } })
  expect(two?.html?.ja).toBe('<p>親切に。</p>\n')
  expect(two?.html?.ko).toBe(one?.html?.en)
})

test('a brand may keep its terms elsewhere, and a name of any signs stays a name', () => {
  const url = 'https://north.example/terms'
  expect(termsOf({ terms: url })).toEqual({ url, files: null, html: null })
  const { html } = termsOf({ name: '*N* <b>', terms: written('I am {{brand}}.') }) ?? {}
  expect(html?.en).toBe('<p>I am *N* &lt;b&gt;.</p>\n')
})

test.each([
  ['HTML', 'a\n\n<script>alert(1)</script>'],
  ['HTML', 'an <img src=x onerror=alert(1)> in a line'],
  ['HTML', '| a |\n|---|\n| <b>x</b> |'],
  ['a picture', '![x](https://tracker.example/x.png)'],
  ['a link', '[x](javascript:alert(1))'],
  ['a link', '[x]\n\n[x]: JavaScript:alert(1)'],
  ['a link', '<javascript:alert(1)>'],
  ['a link', '[x](//evil.example)'],
  ['a link', '[x](data:text/html,x)'],
])('terms with %s that could do something are refused: %s', (what, text) => {
  expect(() => termsOf({ terms: written(text) })).toThrow(`terms.md holds ${what}`)
})

test('terms that are not there, too large, or named by a path that leads out are refused', () => {
  expect(() => termsOf({ terms: 'missing.md' })).toThrow('missing.md cannot be read (ENOENT)')
  expect(() => termsOf({ terms: written('x'.repeat(200_001)) })).toThrow('200000 at most')
  for (const terms of ['../secret.md', 'http://plain.example/terms', { zh: 'terms.md' }, 'terms.html'])
    expect(() => termsOf({ terms })).toThrow('must be an md file')
})
