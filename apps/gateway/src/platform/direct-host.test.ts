import { describe, expect, test } from 'vitest'
import { findDirectHost } from './direct-host.ts'

describe('the address of customers’ TCP ports', () => {
  test.runIf(process.platform === 'linux')('is none that a browser knows the console by', async () => {
    expect(await findDirectHost(null)).toBe('127.0.0.2')
  })

  test('is the usual one where this computer has no other', async () => {
    expect(await findDirectHost(null, '192.0.2.1')).toBe('127.0.0.1')
  })

  test('is the one that was chosen', async () => {
    expect(await findDirectHost('127.0.0.9')).toBe('127.0.0.9')
  })
})
