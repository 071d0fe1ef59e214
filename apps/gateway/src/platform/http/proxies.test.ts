import { expect, test } from 'vitest'
import { createProxies } from './proxies.ts'

const proxies = createProxies(['127.0.0.1', '10.0.0.0/8', 'fd00::/8'])

function senderOf(remoteAddress: string, forwarded?: string, from = proxies): string {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
  return from.senderOf({ headers, socket: { remoteAddress } as never })
}

test('who sends a request is what the trusted proxy says, and nobody else is believed', () => {
  expect(senderOf('127.0.0.1', '203.0.113.7')).toBe('203.0.113.7')
  expect(senderOf('::ffff:127.0.0.1', '203.0.113.7')).toBe('203.0.113.7')
  expect(senderOf('198.51.100.1', '203.0.113.7')).toBe('198.51.100.1')
  expect(senderOf('127.0.0.1', '203.0.113.7', createProxies([]))).toBe('127.0.0.1')
  expect(senderOf('127.0.0.1')).toBe('127.0.0.1')
})

test('what a sender puts before the words of the proxies does not count', () => {
  expect(senderOf('127.0.0.1', '6.6.6.6, 203.0.113.7')).toBe('203.0.113.7')
  expect(senderOf('127.0.0.1', '6.6.6.6, 203.0.113.7, 10.1.2.3')).toBe('203.0.113.7')
  expect(senderOf('fd00::1', '6.6.6.6, 2001:db8::7, fd00::2')).toBe('2001:db8::7')
})

test('a proxy whose words are no address stands for itself', () => {
  expect(senderOf('127.0.0.1', 'unknown')).toBe('127.0.0.1')
  expect(senderOf('127.0.0.1', '6.6.6.6, unknown, 10.1.2.3')).toBe('10.1.2.3')
  expect(senderOf('127.0.0.1', '10.0.0.1,'.repeat(5_000))).toBe('127.0.0.1')
})
