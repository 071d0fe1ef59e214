import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import type { Call } from './call.ts'
import { calls } from './calls.ts'
import { FIELD_RULES } from './errors.ts'
import { CALL_TIMEOUT_MS } from './limits.ts'

/** The seed's calls that are offered, spelled as the seed spells them, with the parameters that it names. */
const SEED_CALLS: Record<string, string[]> = {
  'GET /api/account/get-application': ['id'],
  'POST /api/account/login': [
    'application',
    'organization',
    'autoSignin',
    'signinMethod',
    'type',
    'language',
    'username',
    'password',
  ],
  'POST /api/account/login/{method}': [
    'application',
    'organization',
    'autoSignin',
    'type',
    'language',
    'username',
    'password',
  ],
  'POST /api/account/signup': [
    'organization',
    'username',
    'password',
    'name',
    'email',
    'application',
    'agreement',
  ],
  'POST /api/account/logout': [],
  'GET /api/account/get-account': [],
  'POST /api/account/send-verify-email': ['email', 'application', 'organization', 'method'],
  'GET /api/account/verify-email': ['application', 'token'],
  'POST /api/account/send-reset-password-email': ['email', 'application', 'organization'],
  'POST /api/account/reset-password': ['token', 'password', 'application', 'organization'],
  'POST /api/account/update-user': ['id', 'columns', 'displayName'],
  'POST /api/account/unlink': ['providerType', 'user'],
  'GET /api/account/get-captcha-status': ['organization', 'userId', 'application'],
  'GET /api/account/get-captcha': ['applicationId', 'isCurrentProvider'],
  'GET /api/region/all': [],
  'GET /api/region/list': ['page', 'page_size', 'name', 'code'],
  'POST /api/gpu_spec/list': ['region_codes'],
  'GET /api/image/official_images': [],
  'GET /api/image/official_images/{region}': [],
  'POST /api/instance/': [],
  'GET /api/instance/': [],
  'PUT /api/instance/': [],
  'DELETE /api/instance/{id}': [],
  'PUT /api/instance/{id}/stop': [],
  'PUT /api/instance/{id}/restart': [],
  'POST /api/instance/start': ['instance_id', 'gpu_count', 'gpu_spec_id'],
  'GET /api/instance/{id}/connection': [],
  'POST /api/instance/start-web-terminal': ['instance_id'],
  'POST /api/instance/stop-web-terminal': ['instance_id'],
  'POST /api/instance/check-resource': [],
  'GET /api/instance/price': [],
  'GET /api/bill/balance': [],
  'GET /api/bill/pay-platform': [],
  'POST /api/bill/topup': ['amount', 'currency', 'platform_name', 'source'],
  'GET /api/bill/transaction': [],
}

/** Calls that the seed does not have. A new call belongs here, or in the table above when the seed has it. */
const OWN_CALLS = [
  'GET /api/account/sessions',
  'DELETE /api/account/sessions/{id}',
  'POST /api/account/sessions/end-others',
  'POST /api/account/begin-provider-sign-in',
  'POST /api/account/link',
  'POST /api/account/set-password',
  'POST /api/account/delete-account',
  'GET /api/account/audit-log',
  'GET /api/notification',
  'PUT /api/notification',
  'GET /api/ssh-key/',
  'POST /api/ssh-key/',
  'DELETE /api/ssh-key/{id}',
  'GET /api/registry/',
  'POST /api/registry/',
  'PUT /api/registry/{id}',
  'DELETE /api/registry/{id}',
  'POST /api/registry/{id}/check',
  'GET /api/model-verse/api-key/',
  'POST /api/model-verse/api-key/',
  'DELETE /api/model-verse/api-key/{id}',
  'GET /api/mailbox',
  'GET /api/settings',
  'GET /api/instance/{id}/events',
  'GET /api/bill/transaction/{id}',
  'GET /api/bill/spend',
]

const all: readonly Call[] = calls
const addressOf = (call: Call): string => `${call.method} ${call.path}`

describe('names and addresses', () => {
  test('operations are unique and spelled alike', () => {
    const operations = all.map(call => call.operation)
    expect(new Set(operations).size).toBe(operations.length)
    for (const operation of operations) expect(operation).toMatch(/^[a-z_]+\.[a-z]+(-[a-z]+)*$/)
  })

  test('method and path are unique, also when parameters have other names', () => {
    const addresses = all.map(call => addressOf(call).replace(/\{\w+\}/g, '{}'))
    expect(new Set(addresses).size).toBe(addresses.length)
  })

  test.each(Object.entries(SEED_CALLS))(
    "[R7.9] the seed's %s is there with its parameters",
    (address, keys) => {
      const call = all.find(one => addressOf(one) === address)
      expect(call, `no call is spelled ${address}`).toBeDefined()
      const taken = [...keysOf(call?.query ?? null), ...keysOf(call?.body ?? null)]
      expect(taken).toEqual(expect.arrayContaining(keys))
    },
  )

  test("[R7.9] every call is the seed's, to the letter, or known to be our own", () => {
    const known = [...Object.keys(SEED_CALLS), ...OWN_CALLS]
    const unknown = all.map(addressOf).filter(address => !known.includes(address))
    expect(unknown, 'add it to SEED_CALLS as the seed spells it, or to OWN_CALLS').toEqual([])
    expect(OWN_CALLS.filter(address => !all.some(call => addressOf(call) === address))).toEqual([])
  })
})

describe.each(all.map(call => [call.operation, call] as const))('%s', (_operation, call) => {
  test('[R7.9] it has a summary of whole sentences', () => {
    expect(call.summary).toMatch(/^[A-Z].{5,150}\.$/)
  })

  test("its path's parameters are the keys of its schema", () => {
    const inPath = [...call.path.matchAll(/\{(\w+)\}/g)].map(match => match[1])
    expect(keysOf(call.params)).toEqual(inPath)
  })

  test('its path sits below /api, and a GET or DELETE has no body', () => {
    expect(call.path).toMatch(/^\/api\/[a-z_-]+(\/[a-z_-]+|\/\{[a-z_]+\})*\/?$/)
    if (call.method === 'GET' || call.method === 'DELETE') expect(call.body).toBeNull()
  })

  test('account calls, and no others, answer in the envelope of the identity service', () => {
    expect(call.envelope).toBe(call.path.startsWith('/api/account/') ? 'casdoor' : 'berth')
  })

  test('whatever is wrong with a field is said by a rule that has a text', () => {
    for (const schema of [call.params, call.query, call.body]) {
      for (const key of keysOf(schema)) {
        for (const value of WRONG_VALUES) {
          const rules = rulesAt(schema, key, value)
          expect(FIELD_RULES, `${key} = ${String(value).slice(0, 20)}`).toEqual(expect.arrayContaining(rules))
        }
      }
    }
  })
})

describe('rules across calls', () => {
  const spending = all.filter(call => call.spends)

  test('the calls that spend are known, are POSTs, and need a verified account', () => {
    expect(spending.map(call => call.operation).sort()).toEqual([
      'bill.topup',
      'instance.deploy',
      'instance.start',
    ])
    for (const call of spending) {
      expect(call.method).toBe('POST')
      expect(call.audience).toBe('verified')
    }
  })

  test('the calls that take a form are known: everything else is JSON alone', () => {
    expect(all.filter(call => call.form).map(call => call.operation)).toEqual([
      'account.update-user',
      'account.set-password',
    ])
  })

  test('[R9.1] only a call without side effects is tried again', () => {
    const sideEffects = all.filter(call => call.method !== 'GET').map(call => call.operation)
    // The one POST that only reads: its list of regions is too long for an address.
    const retriedPosts = all.filter(call => call.retry && sideEffects.includes(call.operation))
    expect(retriedPosts.map(call => call.operation)).toEqual(['gpu_spec.list'])
    // This GET uses its token up.
    expect(all.find(call => call.operation === 'account.verify-email')?.retry).toBe(false)
  })

  test('[R9.1] a deploy may take a minute, a mail half a minute, and a balance poll five seconds', () => {
    const waits = (operation: string) => {
      const call = all.find(one => one.operation === operation)
      return call && CALL_TIMEOUT_MS[call.timeout]
    }
    expect(waits('instance.deploy')).toBe(60_000)
    expect(waits('account.send-verify-email')).toBe(30_000)
    expect(waits('bill.balance')).toBe(5_000)
  })

  test('everything that changes an instance needs a verified account, and no instance is shown to a guest', () => {
    for (const call of all.filter(one => one.path.startsWith('/api/instance/'))) {
      expect(call.audience, call.operation).not.toBe('guest')
      // These two POST and only answer a question.
      if (call.method === 'GET' || call.operation === 'instance.check-resource') continue
      expect(call.audience, call.operation).toBe('verified')
    }
  })
})

const WRONG_VALUES: readonly unknown[] = [
  undefined,
  null,
  true,
  '',
  'x'.repeat(5_000),
  'a b\n',
  -1,
  0,
  1.5,
  Number.NaN,
  1e15,
  [],
  ['x'],
  [null],
  Array.from({ length: 200 }, () => 'x'),
  {},
  { '1': 1 },
]

/** The keys of an object schema, in order; none where there is no schema. */
function keysOf(schema: z.ZodType | null): string[] {
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : []
}

/** The rules that are broken at a key when it has a value; other keys are left out and not looked at. */
function rulesAt(schema: z.ZodType | null, key: string, value: unknown): string[] {
  const result = schema?.safeParse({ [key]: value })
  if (!result || result.success) return []
  return result.error.issues.filter(issue => issue.path[0] === key).map(issue => issue.message)
}
