import { readFileSync } from 'node:fs'
import { runInNewContext } from 'node:vm'
import { LANGUAGES } from '@berth/contract/limits'
import { expect, test } from 'vitest'
import { LANGUAGE_KEY } from '../src/app/i18n.ts'
import { COLOR_SCHEME_KEY } from '../src/app/theme/color-scheme-key.ts'

const SCRIPT = readFileSync(new URL('../public/first-paint.js', import.meta.url), 'utf8')

test.each(['light', 'dark'])('[R2.15] a stored %s theme is there before the first paint', scheme => {
  expect(paint({ stored: { [COLOR_SCHEME_KEY]: scheme }, systemDark: scheme === 'light' }).scheme).toBe(
    scheme,
  )
})

test.each([
  [true, 'dark'],
  [false, 'light'],
])('without a choice the system decides: dark is %s', (systemDark, scheme) => {
  expect(paint({ stored: {}, systemDark }).scheme).toBe(scheme)
  expect(paint({ stored: { [COLOR_SCHEME_KEY]: 'auto' }, systemDark }).scheme).toBe(scheme)
})

test.each(LANGUAGES)('[R2.15] the page says that it is in %s before its texts are there', language => {
  expect(paint({ stored: { [LANGUAGE_KEY]: language }, systemDark: false }).lang).toBe(language)
})

test('a browser without storage still paints', () => {
  expect(paint({ stored: null, systemDark: true })).toMatchObject({ scheme: 'dark', lang: 'en' })
})

test.each([
  ['en', ['/locales/en/common.json', '/locales/en/auth.json']],
  [
    'ja',
    ['/locales/ja/common.json', '/locales/ja/auth.json', '/locales/en/common.json', '/locales/en/auth.json'],
  ],
])(
  '[R2.15] texts in %s are fetched before the code asks for them, with those that they fall back to',
  (language, addresses) => {
    const { preloads } = paint({
      stored: { [LANGUAGE_KEY]: language },
      systemDark: false,
      texts: 'common auth',
    })
    expect(preloads.map(({ href }) => href)).toEqual(addresses)
    // The browser hands a preloaded file over only to a request of the same kind.
    for (const { rel, as, crossOrigin } of preloads) {
      expect([rel, as, crossOrigin]).toEqual(['preload', 'fetch', 'anonymous'])
    }
  },
)

test.each(['', '__PAGE_TEXTS__'])('a page that names no texts fetches none: "%s"', texts => {
  expect(paint({ stored: {}, systemDark: false, texts }).preloads).toEqual([])
})

interface Visit {
  stored: Record<string, string> | null
  systemDark: boolean
  /** What the gateway wrote into the page. */
  texts?: string
}

function paint({ stored, systemDark, texts = '' }: Visit) {
  const page = { scheme: '', lang: 'en', preloads: [] as Record<string, string>[] }
  const root = {
    setAttribute: (_: string, value: string) => {
      page.scheme = value
    },
    set lang(value: string) {
      page.lang = value
    },
  }
  runInNewContext(SCRIPT, {
    localStorage: {
      getItem(name: string) {
        if (stored === null) throw new Error('denied')
        return stored[name] ?? null
      },
    },
    window: { addEventListener() {} },
    matchMedia: () => ({ matches: systemDark }),
    document: {
      documentElement: root,
      currentScript: { dataset: { texts } },
      createElement: () => ({}),
      head: { append: (link: Record<string, string>) => page.preloads.push(link) },
    },
  })
  return page
}
