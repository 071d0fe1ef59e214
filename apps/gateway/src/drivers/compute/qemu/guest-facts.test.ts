import { expect, test } from 'vitest'
import { readGuestFacts } from './guest-facts.ts'

const network = (name: string, ...addresses: unknown[]) => ({
  name,
  'ip-addresses': addresses.map(address => ({
    'ip-address-type': 'ipv4',
    'ip-address': address,
    prefix: 24,
  })),
})

test('of what a guest says of itself its name and its addresses are taken, without those of itself alone', () => {
  const interfaces = [
    network('lo', '127.0.0.1', '::1'),
    network('eth0', '10.0.2.15', 'fe80::1', 'fec0::15'),
    { name: 'down', 'hardware-address': '52:54:00:12:34:56' },
  ]
  expect(readGuestFacts({ os: { 'pretty-name': 'Debian GNU/Linux 12' }, interfaces })).toEqual({
    os: 'Debian GNU/Linux 12',
    addresses: [
      { interface: 'eth0', address: '10.0.2.15' },
      { interface: 'eth0', address: 'fec0::15' },
    ],
  })
})

test('of a guest that lies there is nothing but words of one line and real addresses, so many at most', () => {
  const lies = [
    network('a\u202e\n'.repeat(100), '10.0.0.1', '<script>', 7, null, '9'.repeat(10_000)),
    7,
    ...Array.from({ length: 500 }, (_, at) => network('x', `192.0.2.${at % 250}`)),
  ]
  const told = readGuestFacts({ os: { 'pretty-name': `\u0000${'A'.repeat(10_000)}` }, interfaces: lies })
  expect(told?.os).toBe('A'.repeat(100))
  expect(told?.addresses).toHaveLength(64)
  expect(told?.addresses[0]).toEqual({ interface: 'a a a a a a a a a a a a a a a a ', address: '10.0.0.1' })
  expect(readGuestFacts({ os: 7, interfaces: 'none' })).toEqual({ os: null, addresses: [] })
  for (const nothing of [null, 7, 'words', {}]) expect(readGuestFacts(nothing)).toBeNull()
})
