import { describe, expect, test } from 'vitest'
import { deployBody, ports } from './instances.ts'
import * as limits from './limits.ts'
import { centsFromText, MICRO_PER_CENT } from './money.ts'

describe("the seed's constants", () => {
  test('[R9.1] timeouts by class', () => {
    expect(limits.CALL_TIMEOUT_MS).toEqual({
      fast: 5_000,
      normal: 15_000,
      long: 15_000,
      email: 30_000,
      download: 60_000,
      deploy: 60_000,
      default: 10_000,
    })
  })

  test('[R9.1] two retries, a second apart', () => {
    expect(limits.RETRY_COUNT).toBe(2)
    expect(limits.RETRY_DELAY_MS).toBe(1_000)
  })

  test('[R9.8] English is the default of four languages, cookies last a year, ten ports fit a list', () => {
    expect(limits.LANGUAGES[0]).toBe('en')
    expect([...limits.LANGUAGES].sort()).toEqual(['en', 'ja', 'ko', 'zh'])
    expect(limits.COOKIE_MAX_AGE_S).toBe(31_536_000)
    expect(limits.PORTS_MAX).toBe(10)
    expect(ports.safeParse([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]).success).toBe(true)
    expect(ports.safeParse([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]).success).toBe(false)
  })

  test('what the screens take from the seed', () => {
    expect(limits.TOAST_MS).toBe(3_000)
    expect(limits.BALANCE_POLL_MS).toBe(5_000)
    expect(limits.ACTIVATION_RESEND_WAIT_MS).toBe(60_000)
    expect(limits.PAGE_LOAD_RETRIES).toBe(5)
    expect(limits.PAGE_LOAD_RETRY_DELAY_MS).toBe(100)
    expect(limits.BACK_TO_TOP_PX).toBe(100)
    expect(limits.REFERRAL_CODE_CHARS_MAX).toBe(200)
  })

  test('what the rules take from the seed', () => {
    expect(limits.CURRENCIES[0]).toBe('USD')
    expect(limits.INSTANCE_NAME_CHARS_MAX).toBe(63)
    expect(limits.PASSWORD_CHARS_MIN).toBe(8)
    expect(limits.PORT_MAX).toBe(65_535)
    expect(limits.START_COMMAND_CHARS_MAX).toBe(500)
    expect(limits.STOPPED_POD_KEPT_DAYS).toBe(30)
    expect(limits.STOPPED_POD_NOTICE_DAYS).toEqual([7, 3, 1])
  })
})

describe('limits that depend on each other', () => {
  test('every least is under its most', () => {
    expect(limits.CONTAINER_DISK_GB_MIN).toBeLessThan(limits.CONTAINER_DISK_GB_MAX)
    expect(limits.PASSWORD_CHARS_MIN).toBeLessThan(limits.PASSWORD_CHARS_MAX)
    expect(limits.TOPUP_CENTS_MIN).toBeLessThan(limits.TOPUP_CENTS_MAX)
    expect(limits.IDEMPOTENCY_KEY_CHARS_MIN).toBeLessThan(limits.IDEMPOTENCY_KEY_CHARS_MAX)
    expect(limits.PAGE_SIZE_DEFAULT).toBeLessThanOrEqual(limits.PAGE_SIZE_MAX)
  })

  test('the free part of the disk is a size that can be asked for', () => {
    expect(limits.SYSTEM_DISK_FREE_GB).toBeGreaterThanOrEqual(limits.CONTAINER_DISK_GB_MIN)
    expect(limits.SYSTEM_DISK_FREE_GB).toBeLessThanOrEqual(limits.CONTAINER_DISK_GB_MAX)
  })

  test('a balance poll has been answered or given up before the next one is due', () => {
    expect(limits.CALL_TIMEOUT_MS.fast).toBeLessThanOrEqual(limits.BALANCE_POLL_MS)
  })

  test('an answer is kept for its idempotency key until every try of the console is over', () => {
    const slowest = Math.max(...Object.values(limits.CALL_TIMEOUT_MS))
    const allTries = (limits.RETRY_COUNT + 1) * (slowest + limits.RETRY_DELAY_MS)
    expect(allTries).toBeLessThan(limits.IDEMPOTENCY_KEPT_HOURS * 3_600_000)
  })

  test('the dates of notice are ahead of the deletion, the earliest first', () => {
    const days: number[] = [...limits.STOPPED_POD_NOTICE_DAYS]
    expect(days).toEqual([...new Set(days)].sort((a, b) => b - a))
    expect(Math.max(...days)).toBeLessThan(limits.STOPPED_POD_KEPT_DAYS)
    expect(Math.min(...days)).toBeGreaterThan(0)
  })

  test('an instance name makes a DNS label, and a greater top-up can be typed and kept exactly', () => {
    expect(limits.INSTANCE_NAME_CHARS_MAX).toBeLessThanOrEqual(63)
    expect(centsFromText(String(limits.TOPUP_CENTS_MAX / 100))).toBe(limits.TOPUP_CENTS_MAX)
    expect(BigInt(limits.TOPUP_CENTS_MAX) * MICRO_PER_CENT).toBeLessThan(BigInt(Number.MAX_SAFE_INTEGER))
  })

  test('the largest legal request fits, even from a client that escapes every character', () => {
    const largest = {
      name: 'n'.repeat(limits.INSTANCE_NAME_CHARS_MAX),
      region_code: 'r'.repeat(64),
      gpu_spec_id: 'g'.repeat(64),
      gpu_count: limits.GPU_COUNT_MAX,
      image_id: 'i'.repeat(64),
      container_disk_gb: limits.CONTAINER_DISK_GB_MAX,
      http_ports: tenPortsFrom(limits.PORT_MAX - 9),
      tcp_ports: tenPortsFrom(limits.PORT_MAX - 19),
      udp_ports: tenPortsFrom(limits.PORT_MAX - 29),
      env: Object.fromEntries(
        Array.from({ length: limits.ENV_VARIABLES_MAX }, (_, index) => [
          `V${index}`.padEnd(limits.ENV_NAME_CHARS_MAX, '_'),
          '界'.repeat(limits.ENV_VALUE_CHARS_MAX),
        ]),
      ),
      start_command: '界'.repeat(limits.START_COMMAND_CHARS_MAX),
    }
    expect(deployBody.safeParse(largest).success).toBe(true)
    const escaped = JSON.stringify(largest, null, 2).replaceAll('界', '\\u754c')
    expect(Buffer.byteLength(escaped)).toBeLessThan(limits.DEPLOY_BODY_BYTES_MAX)
  })
})

test('every limit is a positive whole number', () => {
  for (const [name, value] of Object.entries(limits).filter(([, value]) => typeof value === 'number')) {
    expect(Number.isSafeInteger(value), name).toBe(true)
    expect(value, name).toBeGreaterThan(0)
  }
})

function tenPortsFrom(first: number): number[] {
  return Array.from({ length: limits.PORTS_MAX }, (_, index) => first + index)
}
