import { expect, test } from 'vitest'
import { isLoopback, isLoopbackOrigin, networkOf } from './network.ts'

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:0DB8:0001:0002::9', '2001:db8:1:2'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  ['64:ff9b::192.0.2.1', '64:ff9b:0:0'],
])('%s stands for the network %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})

test.each([
  ['127.0.0.1', true],
  ['127.8.8.8', true],
  ['::1', true],
  ['::ffff:127.0.0.1', true],
  ['203.0.113.7', false],
  ['::ffff:203.0.113.7', false],
  ['::2', false],
])('%s is this machine: %s', (address, expected) => {
  expect(isLoopback(address)).toBe(expected)
})

test.each([
  ['http://localhost:8080', true],
  ['http://127.0.0.1:8080', true],
  ['http://[::1]:8080', true],
  ['http://berth.localhost', true],
  ['http://127.0.0.1.example.com', false],
  ['http://localhost.example.com', false],
  ['https://console.example.com', false],
  ['nonsense', false],
])('%s was asked by a name of this machine: %s', (origin, expected) => {
  expect(isLoopbackOrigin(origin)).toBe(expected)
})
