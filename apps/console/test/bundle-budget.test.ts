import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Manifest } from 'vite'
import { beforeAll, expect, test } from 'vitest'
import { builtConsole } from '../../../scripts/test/built-console.ts'
import { ALIASES, PAGES } from '../src/app/pages.ts'

const ENTRY = 'index.html'

// Measured as the browser gets it: the gzip bytes of every script that a page needs before it is complete.
// What loads on a click (menus, dialogs, the terminal) counts where it is used, not here.
const BUDGETS = [
  { page: '/auth', kilobytes: 174, parts: ['src/app/GuestApp.tsx', 'src/pages/auth/AuthPage.tsx'] },
  {
    page: '/instance-list',
    kilobytes: 250,
    parts: [
      'src/app/ConsoleApp.tsx',
      'src/app/shell/Shell.tsx',
      'src/pages/instance-list/InstanceListPage.tsx',
    ],
  },
  {
    page: '/instance',
    kilobytes: 260,
    parts: ['src/app/ConsoleApp.tsx', 'src/app/shell/Shell.tsx', 'src/pages/instance/InstancePage.tsx'],
  },
]

/** The settings load one section at a time; with any of them they stay within this. */
const SETTINGS_KILOBYTES = 250
const SETTINGS_SECTIONS = [
  'profile/ProfileSection',
  'notifications/NotificationsSection',
  'sign-in/SignInSection',
  'sessions/SessionsSection',
  'audit/AuditSection',
  'keys/SshKeysSection',
  'keys/RegistriesSection',
  'keys/ApiKeysSection',
  'delete/DeleteSection',
]

let folder: string
let manifest: Manifest

beforeAll(async () => {
  folder = await builtConsole()
  manifest = JSON.parse(readFileSync(join(folder, '.vite/manifest.json'), 'utf8'))
})

test.each(BUDGETS)('$page loads at most $kilobytes KB of JavaScript', ({ kilobytes, parts }) => {
  expectAtMost(kilobytes, parts)
})

test.each(SETTINGS_SECTIONS)(
  `/settings with %s loads at most ${SETTINGS_KILOBYTES} KB of JavaScript`,
  section => {
    const page = 'src/pages/settings/SettingsPage.tsx'
    const parts = ['src/app/ConsoleApp.tsx', 'src/app/shell/Shell.tsx', page]
    expectAtMost(SETTINGS_KILOBYTES, [...parts, `src/pages/settings/${section}.tsx`])
    // The others come when they are opened.
    expect(scriptsOf(parts).filter(file => /Section-/.test(file))).toEqual([])
  },
)

test('the worker that reads Markdown asks for no document, which workers have none of', () => {
  const [worker = ''] = globSync('assets/markdown-worker-*.js', { cwd: folder })
  const text = readFileSync(join(folder, worker), 'utf8')
  expect(text).toContain('postMessage')
  expect(text).not.toMatch(/\bdocument\.createElement\b/)
})

test('/auth loads neither the shell nor the router', () => {
  const files = scriptsOf([ENTRY, 'src/app/GuestApp.tsx', 'src/pages/auth/AuthPage.tsx'])
  expect(files.filter(file => /\/(?:Shell|shell-parts|ConsoleApp)-/.test(file))).toEqual([])
})

test('the page has no inline script or style, and each of its own carries the nonce', () => {
  const page = readFileSync(join(folder, 'index.html'), 'utf8')
  expect(page).not.toMatch(/<style/)
  for (const [tag] of page.matchAll(/<script[^>]*>/g)) {
    expect(tag).toContain('src=')
    expect(tag).toContain('nonce="__CSP_NONCE__"')
  }
})

test('[R2.15] the error texts of the contract are served with the others', () => {
  for (const language of ['en', 'zh', 'ja', 'ko']) {
    const texts = JSON.parse(readFileSync(join(folder, 'locales', language, 'errors.json'), 'utf8'))
    expect(texts.network).toBeTypeOf('string')
  }
})

test.each(BUDGETS)('the page of $page names every script that it loads, and its texts', ({ page, parts }) => {
  const pages = JSON.parse(readFileSync(join(folder, '.vite/page-parts.json'), 'utf8'))
  const html = readFileSync(join(folder, 'index.html'), 'utf8')
  const named = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(match => match[1])
  const expected = scriptsOf([ENTRY, ...parts]).map(file => `/${file}`)
  expect(expected.filter(file => !named.includes(file) && !pages[page].scripts.includes(file))).toEqual([])
  expect(pages[page].texts).toEqual(expect.arrayContaining(['common', 'errors']))
  expect(pages[page].texts.length).toBeGreaterThan(2)
})

test('every path of the table of routes has its parts, old spellings too', () => {
  const pages = JSON.parse(readFileSync(join(folder, '.vite/page-parts.json'), 'utf8'))
  expect(Object.keys(pages).sort()).toEqual([...PAGES.map(page => page.path), ...Object.keys(ALIASES)].sort())
})

test('the script that runs before the first paint is kept for ever, under a name that changes with it', () => {
  const html = readFileSync(join(folder, 'index.html'), 'utf8')
  const file = /src="\/(assets\/first-paint-[\w-]{8}\.js)" data-texts="__PAGE_TEXTS__"/.exec(html)?.[1] ?? ''
  expect(readFileSync(join(folder, file), 'utf8')).toBe(
    readFileSync(new URL('../public/first-paint.js', import.meta.url), 'utf8'),
  )
})

/** What the entry and some parts of the manifest weigh. */
function expectAtMost(kilobytes: number, parts: readonly string[]): void {
  const files = scriptsOf([ENTRY, ...parts])
  const bytes = files.map(file => gzipSync(readFileSync(join(folder, file)), { level: 9 }).length)
  const total = bytes.reduce((sum, size) => sum + size, 0)
  const list = files.map((file, index) => `${bytes[index]} ${file}`).join('\n')
  expect(total, `${total} bytes:\n${list}`).toBeLessThanOrEqual(kilobytes * 1_000)
}

/** The scripts that parts of the manifest load, with everything that those import. */
function scriptsOf(parts: readonly string[]): string[] {
  const seen = new Set<string>()
  const open = [...parts]
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    if (seen.has(part)) continue
    seen.add(part)
    const chunk = manifest[part]
    if (!chunk) throw new Error(`The build has no ${part}; did a file move?`)
    open.push(...(chunk.imports ?? []))
  }
  return [...new Set([...seen].map(part => manifest[part]?.file ?? ''))].filter(file => file.endsWith('.js'))
}
