import { INSTANCE_EVENT_CODES } from '@berth/contract/instance-codes'
import { describe, expect, test } from 'vitest'
import { causeOf } from './event-cause.ts'

describe('who or what caused an event', () => {
  test('what its customer did is said to be theirs', () => {
    const theirs = INSTANCE_EVENT_CODES.filter(code => code.endsWith('_by_customer'))
    expect(theirs).toContain('renewed_by_customer')
    for (const code of theirs) expect(causeOf(code), code).toBe('customer')
    for (const code of ['public_ip_bound', 'public_ip_unbound', 'renamed', 'renewal_off'] as const) {
      expect(causeOf(code), code).toBe('customer')
    }
  })

  test('what came by itself is not', () => {
    const rules = [
      ...(['stopped_no_balance', 'stopped_at_time', 'stopped_at_limit', 'stopped_when_idle'] as const),
      ...(['term_renewed', 'term_unpaid', 'released_at_expiry', 'public_ip_given_back'] as const),
      ...(['deletion_announced', 'deleted_when_stopped'] as const),
    ]
    for (const code of rules) expect(causeOf(code), code).toBe('rule')
    for (const code of ['ready', 'exited', 'out_of_memory'] as const) expect(causeOf(code)).toBe('machine')
    for (const code of ['lost_sight', 'failed'] as const) expect(causeOf(code)).toBe('platform')
  })

  test('of a code that a newer gateway has nobody is blamed', () => {
    expect(causeOf('brand_new' as never)).toBe('platform')
  })
})
