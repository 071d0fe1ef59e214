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
  expect(paint({ stored: null, systemDark: true })).toEqual({ scheme: 'dark', lang: 'en' })
})

function paint({ stored, systemDark }: { stored: Record<string, string> | null; systemDark: boolean }) {
  const page = { scheme: '', lang: 'en' }
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
    document: { documentElement: root },
  })
  return page
}
