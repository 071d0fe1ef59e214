import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isPublicAddress } from './public-address.ts'

test.each(['8.8.8.8', '1.1.1.1', '172.15.0.1', '2606:4700::1111', '::ffff:8.8.8.8'])(
  '%s is public',
  address => {
    expect(isPublicAddress(address)).toBe(true)
  },
)

test.each([
  '0.0.0.0',
  '10.1.2.3',
  '100.64.0.1',
  '127.0.0.1',
  '127.255.0.9',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.192',
  '192.168.1.1',
  '198.18.0.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::7f00:1',
  '::ffff:127.0.0.1',
  '::ffff:a9fe:a9fe',
  '::ffff:0:10.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b::808:808',
  '2002:7f00:1::1',
  '2001:0:7f00:1::1',
  'fc00::1',
  'fd00:ec2::254',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
  '2001:db8::1',
  '4000::1',
  'localhost',
  '127.1',
  '2130706433',
  '0x7f000001',
  '',
])('%s is not', address => {
  expect(isPublicAddress(address)).toBe(false)
})

test('no private IPv4 address is public in any form that IPv6 has for it', () => {
  const inside = fc.oneof(
    fc.tuple(fc.constant(10), fc.nat(255), fc.nat(255), fc.nat(255)),
    fc.tuple(fc.constant(127), fc.nat(255), fc.nat(255), fc.nat(255)),
    fc.tuple(fc.constant(192), fc.constant(168), fc.nat(255), fc.nat(255)),
    fc.tuple(fc.constant(169), fc.constant(254), fc.nat(255), fc.nat(255)),
    fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), fc.nat(255), fc.nat(255)),
  )
  fc.assert(
    fc.property(inside, parts => {
      const dotted = parts.join('.')
      const hex = Buffer.from(parts)
        .toString('hex')
        .replace(/^(....)/, '$1:')
      const forms = [dotted, `::${dotted}`, `::ffff:${dotted}`, `::ffff:0:${dotted}`, `::ffff:${hex}`]
      return ![...forms, `64:ff9b::${hex}`, `2002:${hex}::1`].some(isPublicAddress)
    }),
  )
})
