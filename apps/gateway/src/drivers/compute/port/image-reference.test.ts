import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseReference } from './image-reference.ts'

const HEX = 'a'.repeat(64)

test.each([
  ['debian', 'registry-1.docker.io', 'library/debian', 'latest'],
  ['debian:12', 'registry-1.docker.io', 'library/debian', '12'],
  ['docker.io/pytorch/pytorch:2.9', 'registry-1.docker.io', 'pytorch/pytorch', '2.9'],
  ['localhost/a', 'localhost', 'a', 'latest'],
  ['127.0.0.1:5000/a/b:1', '127.0.0.1:5000', 'a/b', '1'],
  [`ghcr.io/a/b__c@sha256:${HEX}`, 'ghcr.io', 'a/b__c', `sha256:${HEX}`],
  [`quay.io/a/b:1@sha256:${HEX}`, 'quay.io', 'a/b', `sha256:${HEX}`],
])('%s is an image at a registry', (text, host, repository, version) => {
  expect(parseReference(text)).toEqual({ host, repository, version })
})

test.each([
  '',
  '/',
  'a/',
  '/a',
  'a//b',
  '../a',
  'a/../b',
  'a/./b',
  'A',
  'a:',
  'a b',
  'a\n',
  'a:1\n',
  'a\0',
  'host.com\0/a',
  'a/b\\c',
  'a?x',
  'a#x',
  'a%2e',
  'user@host.com/a',
  'http://host.com/a',
  'host.com:0/a',
  'host.com:99999/a',
  '-host.com/a',
  'host..com/a',
  '127.1/a',
  '1.2.3.4.5/a',
  '0x7f.1/a',
  '[::1]:5000/a',
  `a@sha256:${HEX}0`,
  `a@sha256:${HEX}@sha256:${HEX}`,
  'a@md5:00',
  'a'.repeat(300),
])('%j is none', text => {
  expect(parseReference(text)).toBeNull()
})

test('whatever a reference is, its address leads to its own host and to a path below /v2/', () => {
  const odd = fc.string({ unit: fc.constantFrom(...'ab1.:/@-_%\\?#[] \n\0', '..', '://', `sha256:${HEX}`) })
  fc.assert(
    fc.property(odd, text => {
      const found = parseReference(text)
      if (!found) return
      const url = new URL(`https://${found.host}/v2/${found.repository}/manifests/${found.version}`)
      expect([`${url.hostname}:${url.port || '443'}`, `${url.hostname}:`]).toContain(
        found.host.includes(':') ? found.host.replace(/:443$/, ':443') : `${found.host}:`,
      )
      expect(url.pathname).toBe(`/v2/${found.repository}/manifests/${found.version}`)
      expect([url.search, url.hash, url.username, url.password]).toEqual(['', '', '', ''])
    }),
    { numRuns: 2_000 },
  )
})
