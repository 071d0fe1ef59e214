import { readFileSync } from 'node:fs'
import { CONSOLE_LINKS } from '@berth/contract/console-links'
import { LANGUAGES } from '@berth/contract/limits'
import { expect, test } from 'vitest'
import { ALIASES, guestPage, isOpenPath, PAGES } from './pages.ts'
import { HOME_PATH } from './session/redirect-target.ts'
import { SECTION_IDS } from './settings-sections.ts'
import { MENU } from './shell/menu.ts'

/** The pages of the specification that are signed-in only (R2.4). */
const SIGNED_IN_ONLY = [
  '/explore',
  '/instance-list',
  '/instance',
  '/my-images',
  '/network-volume',
  '/settings',
  '/payments',
  '/bill-details',
  '/refer-earn',
  '/refer-earn-details',
  '/multi-modal',
  '/video-model',
]

test('[R2.1] sign-in, coming back from another service and choosing a new password stand outside the shell', () => {
  for (const path of ['/auth', '/reset-password', '/callback']) expect(guestPage(path)?.access).toBe('guest')
})

test('[R2.2] activation answers to both spellings', () => {
  expect(guestPage('/activty')?.path).toBe('/activty')
  expect(guestPage('/activity')?.path).toBe('/activty')
  expect(guestPage('/logout')?.path).toBe('/logout')
  expect(Object.values(ALIASES)).toEqual(['/activty'])
})

/** Those of them that are built; the others prove nothing by not being there. */
const BUILT = SIGNED_IN_ONLY.filter(path => PAGES.some(page => page.path === path))

test.each(BUILT)('[R2.4] %s is never open to guests', path => {
  expect(isOpenPath(path)).toBe(false)
  expect(guestPage(path)).toBeNull()
})

/** Those of the specification that are open inside the shell (R2.3); built ones alone can be held. */
const OPEN = ['/community-image', '/image-detail', '/model-endpoints', '/chat-model', '/image-model']

test.each(OPEN.filter(path => PAGES.some(page => page.path === path)))(
  '[R2.3] %s is open to guests, inside the shell',
  path => {
    expect(isOpenPath(path)).toBe(true)
    expect(guestPage(path)).toBeNull()
  },
)

test('an unknown path is not open', () => {
  for (const path of ['/', '/nope', '/auth/x', '/constructor', '/toString'])
    expect(isOpenPath(path)).toBe(false)
})

test('[R2.12] the menu has the groups of the specification and leads only to pages that are built', () => {
  expect(MENU.map(group => group.heading)).toEqual(['discover', 'compute', 'billing', 'account'])
  for (const { entries } of MENU) expect(entries).not.toEqual([])
  const built = PAGES.map(page => page.path)
  for (const { path } of MENU.flatMap(group => group.entries)) expect(built).toContain(path)
  expect(built).toContain(HOME_PATH)
})

test('[R2.6] who is signed in starts at the models', () => {
  expect(HOME_PATH).toBe('/model-endpoints')
})

test.each(LANGUAGES)('[R2.10] every page has a title in %s', language => {
  const file = new URL(`../../public/locales/${language}/common.json`, import.meta.url)
  const titles = JSON.parse(readFileSync(file, 'utf8')).titles
  for (const { path } of PAGES) expect(titles[path.slice(1)], path).toBeTypeOf('string')
})

test('every link of every mail leads to a page, and to a part of it, that is there', () => {
  for (const link of Object.values(CONSOLE_LINKS)) {
    const { pathname, searchParams } = new URL(link, 'http://berth.example')
    expect(PAGES.map(({ path }) => path as string)).toContain(pathname)
    if (pathname === '/settings')
      expect(SECTION_IDS as readonly string[]).toContain(searchParams.get('section'))
  }
})
