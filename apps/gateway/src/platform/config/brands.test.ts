import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { accentTokens, GROUNDS } from './accent.ts'
import { readBrandFiles } from './brand-files.ts'
import { analyticsOf, brandHostNames, brands, checkBrandHosts, findBrand } from './brands.ts'

const TOKENS = readFileSync(
  fileURLToPath(new URL('../../../../console/src/app/theme/tokens.css', import.meta.url)),
  'utf8',
)
const plain = { hosts: ['default'], name: 'Berth', docs_url: '/gateway/docs' }
const north = { ...plain, hosts: ['console.north.example', 'north.localhost:9000'], name: 'North' }

describe('[R1.10] the brand of a host', () => {
  const list = brands.parse([north, plain])
  test.each([
    ['console.north.example', 'North'],
    ['CONSOLE.north.example:8443', 'North'],
    ['north.localhost:9000', 'North'],
    ['north.localhost:9001', 'Berth'],
    ['evil-console.north.example', 'Berth'],
    ['default', 'Berth'],
    ['', 'Berth'],
  ])('at %j is %s', (host, name) => {
    expect(findBrand(list, host).name).toBe(name)
  })

  test('is one that the console answers to; `default` is no name', () => {
    expect(brandHostNames(list)).toEqual(['console.north.example', 'north.localhost'])
  })
})

test.each([
  ['localhost', ['north.localhost'], false],
  ['apps.example.com', ['console.example.com'], false],
  ['example.com', ['console.example.com'], true],
  ['console.example.com', ['console.example.com:8443'], true],
])('below the service host %s, brands at %j are refused: %s', (serviceHost, hosts, refused) => {
  const list = brands.parse([{ ...north, hosts }, plain])
  const check = () => checkBrandHosts(list, serviceHost)
  if (refused) expect(check).toThrow('names there belong to instances')
  else expect(check).not.toThrow()
})

describe('[R1.10] analytics', () => {
  const analytics = { script_url: 'https://stats.example/s.js' }
  test('are of the production host only', () => {
    const [on, off] = brands.parse([
      { ...north, analytics, production: true },
      { ...plain, analytics },
    ])
    expect(on && analyticsOf(on)?.script_url).toBe(analytics.script_url)
    expect(off && analyticsOf(off)).toBeNull()
  })

  test('cannot be switched on for every host', () => {
    expect(faultsOf([{ ...plain, analytics, production: true }])).toContain('needs hosts by name')
  })
})

describe('[R1.10] a mistake in a brand is refused', () => {
  test.each([
    ['a host with a scheme', { hosts: ['https://x.example'] }],
    ['a host in capitals', { hosts: ['X.example'] }],
    ['a script that is not encrypted', { analytics: { script_url: 'http://stats.example/s.js' } }],
    ['a script of our own origin', { analytics: { script_url: '/s.js' } }],
    ['an address that could end a directive', { image_storage_url: 'https://a.example;script-src/' }],
    ['an address with a password', { image_storage_url: 'https://me:secret@a.example/' }],
    [
      'an attribute that is no data',
      { analytics: { script_url: 'https://s.example/', attributes: { onload: 'x' } } },
    ],
    ['docs that are a script', { docs_url: 'javascript:alert(1)' }],
    ['docs on another host by two slashes', { docs_url: '//evil.example' }],
    ['a logo out of the folder', { logo: { light: '../secret.svg', dark: 'logo.svg' } }],
    ['a logo of another kind', { logo: { light: 'logo.html', dark: 'logo.svg' } }],
    ['a colour by name', { accent: { light: 'teal', dark: '#3fd0bd' } }],
  ])('%s', (_, change) => {
    expect(
      faultsOf([
        { ...plain, ...change },
        { ...plain, hosts: ['default'] },
      ]),
    ).not.toBe('')
  })

  test('a host that two brands name', () => {
    expect(faultsOf([north, north, plain])).toContain('is there twice: console.north.example')
  })

  test('no brand for all other hosts', () => {
    expect(faultsOf([north])).toContain('`default`')
  })

  test('a logo that is not there', () => {
    const list = brands.parse([{ ...plain, logo: { light: 'missing.svg', dark: 'missing.svg' } }])
    expect(() => readBrandFiles(list, '/nowhere')).toThrow('missing.svg cannot be read (ENOENT)')
  })
})

describe('[B13] a brand’s accent', () => {
  test.each([
    ['#6b3fa0', '#c39bff'],
    ['#0b6e66', '#3fd0bd'],
    ['#a13a00', '#ffb07a'],
  ])('%s and %s can be read everywhere', (light, dark) => {
    expect(faultsOf([{ ...plain, accent: { light, dark } }])).toBe('')
  })

  test.each([
    ['too pale for the light theme', '#3fd0bd', '#3fd0bd', 'in the light theme; it takes 4.5:1'],
    ['too dark for the dark theme', '#0b6e66', '#0b6e66', 'in the dark theme; it takes 4.5:1'],
  ])('%s is refused, with its contrast', (_, light, dark, message) => {
    expect(faultsOf([{ ...plain, accent: { light, dark } }])).toContain(message)
  })

  test('is held against the grounds that the console has', () => {
    for (const theme of ['light', 'dark'] as const) {
      const block = TOKENS.match(new RegExp(`scheme="${theme}"\\] \\{([^}]+)\\}`))?.[1] ?? ''
      const grounds = Array.from(
        block.matchAll(/--(?:ground|surface|sunk|control-surface): (#\w+);/g),
        match => match[1],
      )
      expect(new Set(grounds)).toEqual(new Set(GROUNDS[theme]))
      // Every token that an accent gives is one of the console's.
      for (const name of Object.keys(accentTokens('#0b6e66', theme))) expect(block).toContain(`${name}: `)
    }
  })
})

/** What the schema finds fault with, as one text. */
function faultsOf(list: unknown): string {
  const result = brands.safeParse(list)
  return result.success ? '' : result.error.issues.map(({ message }) => message).join('\n')
}
