import { APPLICATION, ORGANIZATION } from '@berth/contract/account'
import { getCaptchaStatus } from '@berth/contract/account-sign-in'
import { getBalance } from '@berth/contract/billing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { RATE_LIMITS } from '../src/platform/http/rate-limits.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

const CAPTCHAS = 10
const GENERAL = 60

const STATUS = {
  query: { organization: ORGANIZATION, userId: 'nobody@example.org', application: APPLICATION },
}

let first: TestGateway
let second: TestGateway
beforeAll(async () => {
  const strict_per_minute = { ...RATE_LIMITS.strict_per_minute, captcha: CAPTCHAS }
  const rateLimits = { general_per_minute: GENERAL, strict_per_minute }
  first = await startGateway({ rateLimits })
  second = await startGateway({ rateLimits, database: { ...first.database, close: async () => {} } })
})
afterAll(async () => {
  await second.stop()
  await first.stop()
})

test('a strict limit is one limit, whichever gateway is asked, and each says how long to wait', async () => {
  const answers = await Promise.all(
    Array.from({ length: CAPTCHAS * 2 }, (_, at) => (at % 2 ? first : second).call(getCaptchaStatus, STATUS)),
  )
  const passed = answers.filter(({ headers }) => headers.get('retry-after') === null)
  expect(passed).toHaveLength(CAPTCHAS)
  for (const gateway of [first, second]) {
    const { envelope, headers } = await gateway.call(getCaptchaStatus, STATUS)
    expect(envelope).toMatchObject({ status: 'error', code: 'too_many_requests' })
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    expect(Number(headers.get('ratelimit-limit'))).toBe(CAPTCHAS)
  }
})

test('the general limit is one limit but for a twentieth', async () => {
  const { token } = await first.signUp()
  let passed = 0
  for (let call = 0; call < GENERAL * 2; call++) {
    const { httpStatus } = await (call % 2 ? first : second).call(getBalance, {}, { token })
    if (httpStatus === 200) passed++
  }
  expect(passed).toBeGreaterThanOrEqual(GENERAL)
  expect(passed).toBeLessThanOrEqual(GENERAL * 1.2)
})
