import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import type { Call, Proof, RateClass } from './call.ts'
import { calls } from './calls.ts'
import { FIELD_RULES, ruleOfMessage } from './errors.ts'
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
  'GET /api/image/community_images': [],
  'GET /api/image/community_images/{region}': [],
  'GET /api/image/custom_images': [],
  'GET /api/image/custom_images/{region}': [],
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
  'POST /api/instance/toggle-subscription': [],
  'POST /api/instance/convert-charge-type': [],
  'GET /api/netvolume/price': [],
  'POST /api/eip/': ['region_code', 'instance_id'],
  'DELETE /api/eip/{id}': [],
  'GET /api/bill/balance': [],
  'GET /api/bill/pay-platform': [],
  'POST /api/bill/topup': ['amount', 'currency', 'platform_name', 'source'],
  'GET /api/bill/transaction': [],
  'GET /api/order/bill_duration': [],
  'GET /api/bill/order': [],
  'GET /api/bill/order/download': [],
  'GET /api/bill/invoice': [],
  'GET /api/bill/invoice/{id}': [],
  'GET /api/bill/coupon': [],
  'POST /api/bill/coupon/apply': ['code'],
  'GET /api/bill/payment-method': [],
  'POST /api/bill/payment-method': [],
  'PUT /api/bill/payment-method/{id}': ['is_default', 'platform_name', 'source'],
  'DELETE /api/bill/payment-method/{id}': [],
  'POST /api/bill/payment-intent': ['payment_method', 'payment_method_type'],
  'GET /api/bill/checkout_url': [],
  'GET /api/bill/check-payable': [],
  'GET /api/bill/auto-topup': [],
  'POST /api/bill/auto-topup': ['threshold', 'amount'],
  'POST /api/model-verse/chat': [],
  'POST /api/model-verse/generate-image': [],
}

/**
 * What is counted apart from all else that an address asks for, since it lets somebody guess, fill or send; written out,
 * because a call that slips into another count is noticed by nobody until it is misused.
 */
const COUNTED_APART: Record<Exclude<RateClass, 'general'>, string[]> = {
  login: [
    'account.login',
    'account.login-by',
    'account.reset-password',
    'account.begin-provider-sign-in',
    'account.link',
    'account.unlink',
    'account.set-password',
    'account.confirm-sign-in',
    'account.delete-account',
  ],
  signup: ['account.signup'],
  mail: [
    'account.send-verify-email',
    'account.verify-email',
    'account.send-reset-password-email',
    'account.send-sign-in-code',
    'referral.set-paypal',
    'referral.confirm-paypal',
    'referral.resend-paypal',
  ],
  captcha: ['account.get-captcha-status', 'account.get-captcha'],
  coupon: ['bill.coupon-apply'],
  card: ['bill.payment-method-add'],
}

/**
 * What a session is not enough for, since it may be a stolen one: what would give a thief a way in when the session is
 * over, or take the owner's away. Written out, because a new call that nobody thought of is a hole that nobody sees.
 */
const PROVEN: Record<Exclude<Proof, 'none'>, string[]> = {
  recent: [
    'account.unlink',
    'api_key.create',
    'ssh_key.add',
    'netvolume.make-s3-key',
    'netvolume.rotate-s3-key',
    'referral.set-paypal',
  ],
  own: [
    // For linking it wants a recent sign-in; what comes back is taken by the customer who began alone.
    'account.begin-provider-sign-in',
    'account.link',
    'account.set-password',
    'account.confirm-sign-in',
    'account.delete-account',
  ],
}

/** Every other change that somebody makes who is signed in, and why a session is enough for it. */
const A_SESSION_WILL_DO: Record<string, string[]> = {
  'it takes something away that lets somebody in, which is done in haste': [
    'account.end-session',
    'account.end-other-sessions',
    'api_key.revoke',
    'netvolume.revoke-s3-key',
    'ssh_key.remove',
  ],
  'it lets nobody in': [
    'account.update-user',
    'account.send-sign-in-code',
    'notification.set',
    'bill.billing-address-set',
    'offer_watch.add',
    'offer_watch.cancel',
    'registry.add',
    'deploy_template.add',
    'deploy_template.rename',
    'deploy_template.remove',
    'bill.add-budget',
    'bill.edit-budget',
    'api_key.edit',
    'api_key.set-keeping',
    'check_in.take',
    'referral.choose',
    'referral.confirm-paypal',
    'referral.resend-paypal',
    'referral.remove-paypal',
    'bill.remove-budget',
    'registry.edit',
    'registry.remove',
    'registry.check',
    'instance.edit',
    'instance.terminate',
    'instance.stop',
    'instance.restart',
    'instance.set-resume',
    'instance.start',
    'instance.toggle-renewal',
    'file.plan-upload',
    'file.upload',
    'file.download',
    'instance.download-log',
    'file.make-folder',
    'file.rename',
    'file.remove',
    'netvolume.edit',
    'netvolume.delete',
    'image.upload-cover',
    'image.edit',
    'image.delete',
    'image.publish',
    'image.cancel-publishing',
    'image.make-private',
    'image.cancel-build',
    'image.star',
    'image.unstar',
    'image.report',
    'eip.unbind',
    'netvolume.attach',
    'netvolume.detach',
    'netvolume.delete-snapshot',
    'netvolume.schedule-snapshots',
    'model.upload-picture',
    'model.stop-creation',
    'model.notify-creation',
    'model.delete-creation',
    'model.star-creation',
  ],
  'it ends with the session': ['instance.start-web-terminal', 'instance.stop-web-terminal'],
  'it is what customers come for, and the balance bounds it': [
    'model.chat',
    'model.generate-image',
    'model.make-images',
    'model.make-video',
    'model.retry-creation',
    'instance.deploy',
    'instance.renew',
    'instance.toggle-subscription',
    'instance.convert-charge-type',
    'netvolume.create',
    'netvolume.grow',
    'netvolume.take-snapshot',
    'netvolume.restore-snapshot',
    'image.create',
    'eip.bind',
    'bill.topup',
    'bill.coupon-apply',
    'bill.topup-cancel',
    'bill.payment-method-add',
    'bill.payment-method-set',
    'bill.payment-method-remove',
    'bill.payment-intent',
    'bill.auto-topup-set',
  ],
}

/** Calls that the seed does not have. A new call belongs here, or in the table above when the seed has it. */
const OWN_CALLS = [
  'GET /api/instance-resume',
  'PUT /api/instance-resume',
  'GET /api/referral/invitation',
  'GET /api/bill/budget',
  'POST /api/bill/budget',
  'PUT /api/bill/budget/{id}',
  'DELETE /api/bill/budget/{id}',
  'POST /api/image/',
  'POST /api/image/cover',
  'PUT /api/image/',
  'DELETE /api/image/{id}',
  'PUT /api/image/{id}/report',
  'POST /api/image/{id}/publish',
  'POST /api/image/{id}/cancel-publishing',
  'POST /api/image/{id}/make-private',
  'POST /api/image/{id}/cancel-build',
  'PUT /api/image/{id}/star',
  'DELETE /api/image/{id}/star',
  'GET /api/image/price',
  'GET /api/image/{id}/build-log',
  'GET /api/image/{id}',
  'GET /api/instance/page',
  'GET /api/eip/price',
  'POST /api/offer-watch/',
  'GET /api/offer-watch/',
  'DELETE /api/offer-watch/{id}',
  'GET /api/netvolume/',
  'POST /api/netvolume/',
  'POST /api/netvolume/{id}/attach',
  'POST /api/netvolume/{id}/detach',
  'PUT /api/netvolume/',
  'POST /api/netvolume/{id}/grow',
  'DELETE /api/netvolume/{id}',
  'GET /api/netvolume/{id}/snapshot',
  'POST /api/netvolume/{id}/snapshot',
  'DELETE /api/netvolume/{id}/snapshot/{snapshot_id}',
  'POST /api/netvolume/{id}/snapshot/{snapshot_id}/restore',
  'PUT /api/netvolume/{id}/snapshot-schedule',
  'GET /api/netvolume/{id}/s3',
  'POST /api/netvolume/{id}/s3-key',
  'POST /api/netvolume/{id}/s3-key/{access_key_id}/rotate',
  'DELETE /api/netvolume/{id}/s3-key/{access_key_id}',
  'GET /api/instance/{id}/billing-preview',
  'POST /api/instance/renew',
  'POST /api/instance/toggle-renewal',
  'GET /api/deploy-template/',
  'GET /api/deploy-template/{id}',
  'POST /api/deploy-template/',
  'PUT /api/deploy-template/{id}',
  'DELETE /api/deploy-template/{id}',
  'GET /api/instance/{id}/setup',
  'GET /api/bill/topup',
  'GET /api/bill/topup/{id}',
  'DELETE /api/bill/topup/{id}',
  'GET /api/account/sessions',
  'DELETE /api/account/sessions/{id}',
  'POST /api/account/sessions/end-others',
  'POST /api/account/begin-provider-sign-in',
  'POST /api/account/link',
  'POST /api/account/set-password',
  'POST /api/account/confirm-sign-in',
  'POST /api/account/send-sign-in-code',
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
  'GET /api/model-verse/model',
  'GET /api/model-verse/figures',
  'GET /api/model-verse/creation',
  'GET /api/model-verse/creation/outlook',
  'GET /api/model-verse/creation/archive',
  'GET /api/model-verse/creation/{id}',
  'POST /api/model-verse/creation/image',
  'POST /api/model-verse/creation/video',
  'POST /api/model-verse/creation/picture',
  'POST /api/model-verse/creation/{id}/stop',
  'PUT /api/model-verse/creation/{id}/mail',
  'DELETE /api/model-verse/creation/{id}',
  'PUT /api/model-verse/creation/item/{id}/star',
  'POST /api/model-verse/creation/item/{id}/retry',
  'GET /api/model-verse/figures/days',
  'GET /api/model-verse/keeping',
  'PUT /api/model-verse/keeping',
  'GET /api/model-verse/session-log/{id}/body',
  'GET /api/check-in',
  'POST /api/check-in',
  'GET /api/model-verse/session-log',
  'GET /api/model-verse/session-log/download',
  'GET /api/bill/transaction/download',
  'GET /api/model-verse/api-key/',
  'POST /api/model-verse/api-key/',
  'PUT /api/model-verse/api-key/{id}',
  'DELETE /api/model-verse/api-key/{id}',
  'GET /api/mailbox',
  'GET /api/settings',
  'GET /api/settings/terms',
  'GET /api/instance/{id}/events',
  'GET /api/instance/{id}/logs',
  'GET /api/instance/{id}',
  'GET /api/instance/follow',
  'GET /api/instance/{id}/logs/search',
  'POST /api/instance/{id}/logs/download',
  'GET /api/instance/{id}/logs/follow',
  'GET /api/instance/{id}/metrics',
  'GET /api/instance/{id}/files',
  'POST /api/instance/{id}/files/plan-upload',
  'PUT /api/instance/{id}/files/content',
  'POST /api/instance/{id}/files/download',
  'POST /api/instance/{id}/files/make-folder',
  'POST /api/instance/{id}/files/rename',
  'POST /api/instance/{id}/files/remove',
  'GET /api/instance/{id}/connection/diagnosis',
  'GET /api/bill/transaction/{id}',
  'GET /api/bill/spend',
  'GET /api/bill/outlook',
  'GET /api/bill/order/line',
  'GET /api/bill/invoice/{id}/pdf',
  'GET /api/bill/billing-address',
  'PUT /api/bill/billing-address',
  'GET /api/bill/credit',
  'GET /api/referral',
  'GET /api/referral/record',
  'GET /api/referral/record/download',
  'GET /api/referral/order',
  'GET /api/referral/order/download',
  'GET /api/referral/quarter',
  'PUT /api/referral/quarter/{quarter}',
  'GET /api/referral/paypal',
  'PUT /api/referral/paypal',
  'POST /api/referral/paypal/confirm',
  'POST /api/referral/paypal/resend',
  'DELETE /api/referral/paypal',
]

const all: readonly Call[] = calls
const addressOf = (call: Call): string => `${call.method} ${call.path}`

describe('names and addresses', () => {
  test('operations are unique and spelled alike', () => {
    const operations = all.map(call => call.operation)
    expect(new Set(operations).size).toBe(operations.length)
    for (const operation of operations)
      expect(operation).toMatch(/^[a-z_]+\.[a-z][a-z0-9]*(-[a-z][a-z0-9]*)*$/)
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
    expect(call.path).toMatch(/^\/api\/[a-z_-]+(\/[a-z][a-z0-9_-]*|\/\{[a-z_]+\})*\/?$/)
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
      'bill.coupon-apply',
      'bill.payment-intent',
      'bill.topup',
      'eip.bind',
      'image.create',
      'instance.convert-charge-type',
      'instance.deploy',
      'instance.renew',
      'instance.start',
      'instance.toggle-subscription',
      'model.make-images',
      'model.make-video',
      'model.retry-creation',
      'netvolume.create',
      'netvolume.grow',
      'netvolume.restore-snapshot',
      'netvolume.take-snapshot',
    ])
    for (const call of spending) {
      expect(call.method).toBe('POST')
      expect(call.audience).toBe('verified')
    }
  })

  test('the calls that take bytes are known, and take no other body', () => {
    const taking = all.filter(call => call.bytes)
    expect(taking.map(call => call.operation)).toEqual([
      'model.upload-picture',
      'image.upload-cover',
      'file.upload',
    ])
    for (const call of taking) expect(call.body).toBeNull()
  })

  test('[R7.8] the calls that answer as models do are known, and say by themselves what they take', () => {
    const raw = all.filter(call => call.raw)
    expect(raw.map(call => call.operation)).toEqual(['model.chat', 'model.generate-image'])
    for (const call of raw)
      expect(call).toMatchObject({ body: null, bytes: false, streams: false, file: null })
  })

  test('the calls that take a form are known: everything else is JSON alone', () => {
    expect(all.filter(call => call.form).map(call => call.operation)).toEqual([
      'account.update-user',
      'account.set-password',
    ])
  })

  test('[R9.1] only a call without side effects is tried again', () => {
    expect(all.filter(call => call.retry && !call.readOnly).map(call => call.operation)).toEqual([])
    // A list of regions is too long for an address, and a form asks about all that it holds.
    const lookingPosts = all.filter(call => call.readOnly && call.method !== 'GET')
    expect(lookingPosts.map(call => call.operation)).toEqual(['gpu_spec.list', 'instance.check-resource'])
    // The link of a mail is a GET that uses its token up.
    const changingGets = all.filter(call => !call.readOnly && call.method === 'GET')
    expect(changingGets.map(call => call.operation)).toEqual(['account.verify-email'])
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
      if (call.readOnly) continue
      expect(call.audience, call.operation).toBe('verified')
    }
  })
})

describe('what a call says of its consequences', () => {
  const changes = all.filter(call => !call.readOnly)

  test('[R4.11] balance, bill duration, payment methods, the session and every change outlive a change of page, lists do not', () => {
    const shells = all.filter(call => /balance|bill_duration|payment-method/.test(call.path))
    expect(shells.length).toBeGreaterThan(0)
    for (const call of [...shells, byName('account.get-account'), ...changes]) {
      expect(call.outlivesNavigation, call.operation).toBe(true)
    }
    for (const operation of ['bill.transaction', 'instance.list', 'bill.topup-open', 'account.audit-log']) {
      expect(byName(operation).outlivesNavigation, operation).toBe(false)
    }
  })

  test('what guesses a secret, makes an account, sends a mail or draws a picture is counted apart', () => {
    const apart = Object.fromEntries(
      Object.keys(COUNTED_APART).map(name => [
        name,
        all.filter(call => call.rateClass === name).map(call => call.operation),
      ]),
    )
    expect(apart, 'say in COUNTED_APART what a new call counts as').toEqual(COUNTED_APART)
  })

  test('what would outlast a stolen session wants more than a session', () => {
    const wanting = (proof: Proof) => all.filter(call => call.proof === proof).map(call => call.operation)
    expect(wanting('recent').toSorted()).toEqual(PROVEN.recent.toSorted())
    expect(wanting('own').toSorted()).toEqual(PROVEN.own.toSorted())
    const others = changes.filter(call => call.audience !== 'guest' && call.proof === 'none')
    expect(
      others.map(({ operation }) => operation).toSorted(),
      'give a new call its `proof`, or say in A_SESSION_WILL_DO why it needs none',
    ).toEqual(Object.values(A_SESSION_WILL_DO).flat().toSorted())
    for (const operation of PROVEN.recent) expect(byName(operation).audience).not.toBe('guest')
  })

  test('what guesses a secret, makes an account or sends a mail is counted apart', () => {
    const apart = all.filter(
      call => call.audience === 'guest' && !call.readOnly && call.rateClass === 'general',
    )
    expect(apart.map(call => call.operation)).toEqual(['account.logout'])
    const takesPassword = all.filter(call => keysOf(call.body).some(key => /^(old)?password$/i.test(key)))
    for (const call of takesPassword.filter(({ path }) => path.startsWith('/api/account/'))) {
      expect(['login', 'signup'], call.operation).toContain(call.rateClass)
    }
  })

  test.each(changes.map(call => [call.operation, call] as const))(
    '[B12] %s says what the audit log keeps of it',
    (_, { audit, params, body, data }) => {
      if (audit === null) throw new Error('say `audit: { target: [] }`, or `{ because: … }`')
      if ('because' in audit) return expect(audit.because).toMatch(SENTENCE)
      const parts: Record<string, z.ZodType | null> = { params, body, data }
      for (const place of audit.target) {
        const [part = '', field] = place.split('.')
        expect(keysOf(parts[part] ?? null), place).toContain(field)
      }
    },
  )

  test.each(changes.map(call => [call.operation, call] as const))(
    '[B12] %s has the audit log name what it is about, where it knows',
    (_, { audit, params, body, data }) => {
      if (audit === null || 'because' in audit) return
      // What is asked for comes before what is answered: it is known of a refused call too.
      const [known] = [
        ...keysOf(params).map(key => `params.${key}`),
        ...keysOf(body).map(key => `body.${key}`),
        ...keysOf(data).map(key => `data.${key}`),
      ].filter(place => /\.(id|instance_id|transaction_id)$/.test(place))
      if (known !== undefined) expect(audit.target[0]).toBe(known)
    },
  )

  test.each(changes.map(call => [call.operation, call] as const))(
    '%s says which reads it makes old, and they exist',
    (_, { stales }) => {
      if ('because' in stales) return expect(stales.because).toMatch(SENTENCE)
      expect(stales, 'name some, or say `{ because: … }`').not.toEqual([])
      for (const operation of stales) expect(byName(operation).readOnly, operation).toBe(true)
    },
  )

  test('a call that only looks has no consequences', () => {
    for (const call of all.filter(({ readOnly }) => readOnly)) {
      expect(call, call.operation).toMatchObject({ audit: null, stales: [], spends: false })
    }
  })
})

const SENTENCE = /^[A-Z].{10,120}\.$/

function byName(operation: string): Call {
  const call = all.find(one => one.operation === operation)
  if (!call) throw new Error(`there is no call ${operation}`)
  return call
}

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
  return result.error.issues
    .filter(issue => issue.path[0] === key)
    .map(({ message }) => ruleOfMessage(message).rule)
}
