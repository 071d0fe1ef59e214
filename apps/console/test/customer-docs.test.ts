import { readFileSync } from 'node:fs'
import { LANGUAGES, type Language } from '@berth/contract/limits'
import { expect, test } from 'vitest'
import { customerDocsHtml } from '../build/customer-docs.ts'
import { PAGES } from '../src/app/pages.ts'
import { SECTION_IDS } from '../src/app/settings-sections.ts'

const sourceOf = (language: Language) =>
  readFileSync(new URL(`../../../docs/customers/${language}.md`, import.meta.url), 'utf8')
const figuresOf = (text: string) => Array.from(text.matchAll(/\{\{(\w+)\}\}/g), ([, name]) => name)
const linksOf = (text: string) => Array.from(text.matchAll(/\]\(([^)]+)\)/g), ([, href = '']) => href)

test.each(LANGUAGES)(
  '[R1.9] the docs in %s have the topics, figures and links of the English ones',
  language => {
    const [english, text] = [sourceOf('en'), sourceOf(language)]
    expect(customerDocsHtml(text, language)).toContain('<h2 id="errors">')
    expect(new Set(figuresOf(text))).toEqual(new Set(figuresOf(english)))
    expect(linksOf(text)).toEqual(linksOf(english))
    expect(text.match(/^- /gm)).toHaveLength(english.match(/^- /gm)?.length ?? 0)
  },
)

test.each(LANGUAGES)('no figure in the docs in %s is written by hand', language => {
  // Addresses stand in code, and one machine or one hour may be said as a figure where a language does so.
  const prose = sourceOf(language).replace(/`[^`]*`|\{\{\w+\}\}/g, '')
  expect(prose.match(/\d{2,}|[2-9]/g)).toBeNull()
})

test('every link of the docs leads to a page, and to a section that is there', () => {
  const paths = PAGES.map(({ path }): string => path)
  for (const href of linksOf(sourceOf('en'))) {
    const { pathname, searchParams } = new URL(href, 'http://console')
    expect(paths).toContain(pathname)
    if (pathname === '/settings') expect(SECTION_IDS).toContain(searchParams.get('section'))
  }
})

test.each([
  ['HTML', '<img src=x onerror=alert(1)>'],
  ['HTML in a line', 'a <b>word</b>'],
  ['a constant that is none', '{{NO_SUCH_MAX}}'],
  ['another heading', '# Title'],
])('%s is refused', (_, text) => {
  expect(() => customerDocsHtml(`${sourceOf('en')}\n${text}\n`, 'en')).toThrow(/customers’ docs/)
})

test('figures are written in the language, cents as whole units, and several as a list', () => {
  const html = customerDocsHtml(sourceOf('en'), 'en')
  expect(html).toContain('1 to 10,000 US dollars')
  expect(html).toContain('5 to 2,000 GB')
  expect(html).toContain('24 and 3 hours')
})
