import { createHash } from 'node:crypto'
import { login, loginBy, signup } from '@berth/contract/account'
import { getCaptcha, getCaptchaStatus } from '@berth/contract/account-sign-in'
import { LANGUAGES, type Language } from '@berth/contract/limits'
import { eq, sql } from 'drizzle-orm'
import { decode } from 'fast-png'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  createIdentityBench,
  type IdentityBench,
  loginBody,
  names,
  PASSWORD,
  signUpBody,
} from '../../../../test/identity-bench.ts'
import { sumOf } from '../../../../test/read-question.ts'
import { startSiteverify } from '../../../../test/siteverify-server.ts'
import { createTurnstile } from '../../../drivers/captcha/turnstile.ts'
import { RATE_LIMITS } from '../../../platform/http/rate-limits.ts'
import { captcha } from '../tables.ts'
import { CAPTCHA_AFTER } from '../throttles/login-throttle.ts'
import { CAPTCHA_LIFE_MS } from './drawn-captcha.ts'

const WRONG = 'Wrong-Horse-7'
const APPLICATION_ID = 'admin/berth-console'

let bench: IdentityBench
let count = 0
beforeAll(async () => {
  bench = await createIdentityBench({ captcha: 'Default' })
})
afterAll(() => bench.close())

describe('a captcha is asked for', () => {
  test('only after wrong passwords, and not any more after a right one', async () => {
    const { email, address } = await someone()
    expect(await isAsked(email, address)).toBe(false)
    for (let tries = 1; tries < CAPTCHA_AFTER.pair; tries++) await tryLogin(email, WRONG, address)
    expect(await isAsked(email, address)).toBe(false)
    await tryLogin(email, WRONG, address)
    expect(await isAsked(email.toUpperCase(), address)).toBe(true)
    expect((await tryLogin(email, PASSWORD, address, await solved())).data).toMatch(/^ey/)
    expect(await isAsked(email, address)).toBe(false)
  })

  test('on that account from that network only, and until the count is over', async () => {
    const { email, address } = await wronged()
    expect(await isAsked(email, '192.0.2.200')).toBe(false)
    expect(await isAsked('other@example.com', address)).toBe(false)
    bench.advance(15 * 60_000 + 1)
    expect(await isAsked(email, address)).toBe(false)
    expect((await tryLogin(email, PASSWORD, address)).code).toBeNull()
  })

  test('from everywhere where an account is guessed at from many networks', async () => {
    const { email, address } = await someone()
    for (let n = 0; n < CAPTCHA_AFTER.account; n++) await tryLogin(email, WRONG, `10.1.${count}.${n}`)
    expect(await isAsked(email, address)).toBe(true)
    expect((await tryLogin(email, PASSWORD, address, await solved())).code).toBeNull()
    // Forgotten, it would tell from afar that somebody signed in, and so that there is such an account.
    expect(await isAsked(email, '192.0.2.201')).toBe(true)
  })

  test('on every account from a network that tried many', async () => {
    const { email, address } = await someone()
    for (let n = 0; n < CAPTCHA_AFTER.network; n++) await tryLogin(`no-${n}@example.com`, WRONG, address)
    expect(await isAsked(email, address)).toBe(true)
    expect((await tryLogin(email, PASSWORD, address)).code).toBe('captcha_required')
  })

  test('in the same way for a name that nobody has', async () => {
    const { email, address } = await someone()
    const steps = async (name: string, from: string) => {
      const seen = []
      for (let n = 0; n < 4; n++) {
        const { code, msg, httpStatus } = await tryLogin(name, WRONG, from)
        seen.push({ code, msg, httpStatus, asked: await isAsked(name, from) })
      }
      seen.push((await tryLogin(name, WRONG, from, { captchaToken: '1', clientSecret: 'none' })).code)
      const { code, msg } = await tryLogin(name, WRONG, from, await solved())
      return [...seen, code, msg]
    }
    const known = await steps(email, address)
    expect(known).toEqual(await steps('nobody-at-all@example.com', '192.0.2.202'))
    expect(known.slice(-3)).toEqual([
      'captcha_wrong',
      'login_tries_left',
      expect.stringContaining('2 tries are left'),
    ])
  })

  test('by both ways to sign in by a password, and not by a link', async () => {
    const { email, address } = await wronged()
    const body = loginBody(email)
    const byMethod = (extra: object) =>
      bench.call(loginBy, { params: { method: 'password' }, body: { ...body, ...extra } }, { address })
    expect((await byMethod({})).code).toBe('captcha_required')
    expect((await byMethod(await solved())).data).toMatch(/^ey/)
    const link = { ...body, signinMethod: 'Link' as const, username: '', password: 'none' }
    expect((await bench.call(login, { body: link }, { address })).code).toBe('sign_in_link_invalid')
  })
})

describe('an answer', () => {
  test('is looked at before the password, and counts nothing against it', async () => {
    const { email, address } = await wronged()
    for (let n = 0; n < 10; n++) {
      const wrong = await solved({ captchaToken: '7' })
      expect((await tryLogin(email, PASSWORD, address, wrong)).code).toBe('captcha_wrong')
      expect((await tryLogin(email, WRONG, address)).code).toBe('captcha_required')
    }
    const next = await tryLogin(email, WRONG, address, await solved())
    expect(next).toMatchObject({ code: 'login_tries_left', number: 5 - CAPTCHA_AFTER.pair - 1 })
  })

  test('does not lift the freeze, which is told without asking for another', async () => {
    const { email, address } = await wronged()
    for (let n = 0; n < 3; n++) await tryLogin(email, WRONG, address, await solved())
    const unused = await solved()
    expect((await tryLogin(email, PASSWORD, address, unused)).code).toBe('login_frozen')
    expect((await tryLogin(email, PASSWORD, address)).code).toBe('login_frozen')
    const other = await wronged()
    expect((await tryLogin(other.email, PASSWORD, other.address, unused)).code).toBeNull()
  })

  test('works once, right or wrong', async () => {
    const { email, address } = await wronged()
    const one = await solved()
    expect((await tryLogin(email, WRONG, address, one)).code).toBe('login_tries_left')
    expect((await tryLogin(email, PASSWORD, address, one)).code).toBe('captcha_wrong')
    const other = await solved()
    const bad = { ...other, captchaToken: '7' }
    expect((await tryLogin(email, PASSWORD, address, bad)).code).toBe('captcha_wrong')
    expect((await tryLogin(email, PASSWORD, address, other)).code).toBe('captcha_wrong')
  })

  test('gets one of many tries at once past the captcha', async () => {
    const { email, address } = await wronged()
    const one = await solved()
    const tries = await Promise.all(Array.from({ length: 10 }, () => tryLogin(email, WRONG, address, one)))
    const codes = tries.map(({ code }) => code).sort()
    expect(codes).toEqual([...Array(9).fill('captcha_wrong'), 'login_tries_left'])
  })

  test('is good for five minutes', async () => {
    const { email, address } = await wronged()
    const [early, late] = [await solved(), await solved()]
    bench.advance(CAPTCHA_LIFE_MS - 1)
    expect((await tryLogin(email, WRONG, address, early)).code).toBe('login_tries_left')
    bench.advance(1)
    expect((await tryLogin(email, PASSWORD, address, late)).code).toBe('captcha_wrong')
  })

  test.each([
    ['in full-width digits, with spaces', (text: string) => ` ${toFullWidth(text)} `],
    ['as it is', (text: string) => text],
  ])('may be written %s', async (_, write) => {
    const { email, address } = await wronged()
    const one = await solved()
    const sent = { ...one, captchaToken: write(one.captchaToken) }
    expect((await tryLogin(email, PASSWORD, address, sent)).code).toBeNull()
  })

  test('of another kind, or without its captcha, is none', async () => {
    const { email, address } = await wronged()
    const codes = []
    for (const change of [{ captchaType: 'hCaptcha' }, { clientSecret: '' }, { captchaToken: ' ' }]) {
      codes.push((await tryLogin(email, PASSWORD, address, await solved(change))).code)
    }
    expect(codes).toEqual(['captcha_wrong', 'captcha_required', 'captcha_required'])
  })

  test.each(['none', 'x'.repeat(200)])('to a captcha that is none is wrong: %j', async id => {
    const { email, address } = await wronged()
    const answer = { captchaToken: '12345', clientSecret: id }
    expect((await tryLogin(email, PASSWORD, address, answer)).code).toBe('captcha_wrong')
  })

  test('is judged by any replica', async () => {
    const { email, address } = await wronged()
    const { captchaToken, clientSecret } = await solved()
    const place = { address, userAgent: 'test', stay: true }
    const answer = { type: 'Default', token: captchaToken, captchaId: clientSecret }
    const token = await (await bench.replica()).signInByPassword(email, PASSWORD, place, answer)
    expect(token).toMatch(/^ey/)
  })

  test('may be what the picture shows', async () => {
    const { email, address } = await wronged()
    const { data } = await bench.call(getCaptcha, { query: { applicationId: APPLICATION_ID } })
    // Nobody reads the picture here: what it shows is put in its place, hashed as its own answer is.
    const id = data?.captchaId ?? ''
    const [row] = await bench.database.db.select().from(captcha).where(eq(captcha.id, id))
    const [image, question] = [row?.imageAnswerHash ?? '', row?.questionAnswerHash ?? '']
    expect(image).not.toBe(question)
    await bench.database.db
      .update(captcha)
      .set({ imageAnswerHash: question, questionAnswerHash: image })
      .where(eq(captcha.id, id))
    const answer = { captchaToken: sumOf(data?.captchaQuestion ?? ''), clientSecret: id }
    expect((await tryLogin(email, PASSWORD, address, answer)).code).toBeNull()
  })
})

describe('the embedded captcha', () => {
  test('has Casdoor’s shape, a picture of 200 by 80, and a question in each language', async () => {
    const scripts: Record<Language, RegExp> = {
      en: /^[A-Za-z ,?-]+$/,
      zh: /^[\p{Script=Han}，？]+$/u,
      ja: /^[\p{Script=Han}\p{Script=Hiragana}？]+$/u,
      ko: /^[\p{Script=Hangul} ?]+$/u,
    }
    for (const language of LANGUAGES) {
      const query = { applicationId: APPLICATION_ID, isCurrentProvider: 'false' as const }
      const { data } = await bench.call(getCaptcha, { query }, { language })
      expect(data).toMatchObject({ owner: 'admin', type: 'Default', clientId: '', clientSecret: '' })
      const picture = decode(Buffer.from(data?.captchaImage ?? '', 'base64'))
      expect([picture.width, picture.height]).toEqual([200, 80])
      expect(data?.captchaQuestion).toMatch(scripts[language])
    }
  })

  test('is at rest by keyed hashes alone', async () => {
    const { data } = await bench.call(getCaptcha, { query: { applicationId: APPLICATION_ID } })
    const answer = sumOf(data?.captchaQuestion ?? '')
    const { rows } = await bench.database.db.execute(
      sql`select image_answer_hash, question_answer_hash from captcha where id = ${data?.captchaId}`,
    )
    const { image_answer_hash, question_answer_hash } = rows[0] as Record<string, string>
    expect([image_answer_hash, question_answer_hash]).toEqual(
      Array(2).fill(expect.stringMatching(/^[\w-]{43}$/)),
    )
    for (const text of [answer, `${data?.captchaId} ${answer}`]) {
      expect(createHash('sha256').update(text).digest('base64url')).not.toBe(question_answer_hash)
    }
  })

  test('is refused for another application', async () => {
    const ask = (applicationId: string) => bench.call(getCaptcha, { query: { applicationId } })
    expect(await ask('admin/other')).toMatchObject({
      code: 'validation_failed',
      fields: ['applicationId: not_allowed'],
    })
    const query = { ...names, application: 'other', userId: 'a@example.com' }
    expect(await bench.call(getCaptchaStatus, { query })).toMatchObject({
      code: 'validation_failed',
      fields: ['application: not_allowed'],
    })
  })

  test('is removed when it is over', async () => {
    await solved()
    bench.advance(CAPTCHA_LIFE_MS + 1)
    await bench.identity.purge()
    expect(await bench.database.db.select().from(captcha)).toEqual([])
  })
})

test('without a captcha nothing is asked, however many passwords are wrong', async () => {
  const none = await createIdentityBench()
  try {
    for (let n = 0; n < 4; n++) await none.call(login, { body: loginBody('a@example.com', WRONG) })
    const query = { ...names, userId: 'a@example.com' }
    expect((await none.call(getCaptchaStatus, { query })).data).toBe(false)
    const { data } = await none.call(getCaptcha, { query: { applicationId: APPLICATION_ID } })
    expect(data).toMatchObject({ type: 'none', captchaId: '', captchaImage: '' })
  } finally {
    await none.close()
  }
})

test('captcha calls have a limit of their own, and headers say what is left', async () => {
  const limited = await createIdentityBench({
    captcha: 'Default',
    rateLimits: {
      ...RATE_LIMITS,
      strict_per_minute: { login: 9, signup: 9, mail: 9, captcha: 3, coupon: 9, card: 9 },
    },
  })
  try {
    const ask = (path: string) =>
      fetch(`${limited.origin}/gateway/api/account/${path}`, { headers: { 'x-forwarded-for': '192.0.2.9' } })
    const status = 'get-captcha-status?organization=berth&application=berth-console&userId=a'
    const answers = []
    for (const path of [status, `get-captcha?applicationId=${APPLICATION_ID}`, status, status]) {
      const { status: http, headers } = await ask(path)
      answers.push([http, headers.get('ratelimit-limit'), headers.get('ratelimit-remaining')])
    }
    expect(answers).toEqual([
      [200, '3', '2'],
      [200, '3', '1'],
      [200, '3', '0'],
      [429, '3', '0'],
    ])
    expect((await ask(status)).headers.get('retry-after')).toMatch(/^\d+$/)
    expect((await limited.call(login, { body: loginBody('a@example.com', WRONG) })).code).toBe(
      'login_tries_left',
    )
  } finally {
    await limited.close()
  }
})

test('a captcha service judges answers; while it is down nobody gets past it, and its fault costs no try', async () => {
  const service = await startSiteverify('secret')
  const turnstile = createTurnstile({ siteKey: 'site-key', secret: 'secret' }, service.url)
  const other = await createIdentityBench({ captcha: turnstile })
  try {
    const email = 'held@example.com'
    await other.call(signup, { body: signUpBody(email) })
    const attempt = (password: string, more: object = {}) =>
      other.call(login, { body: { ...loginBody(email, password), ...more } })
    for (let n = 0; n < CAPTCHA_AFTER.pair; n++) await attempt(WRONG)
    const { data } = await other.call(getCaptcha, { query: { applicationId: APPLICATION_ID } })
    expect(data).toMatchObject({
      type: 'Cloudflare Turnstile',
      clientId: 'site-key',
      clientSecret: '***',
      captchaId: '',
    })
    const type = { captchaType: 'Cloudflare Turnstile' }
    expect((await attempt(PASSWORD)).code).toBe('captcha_required')
    expect((await attempt(PASSWORD, { ...type, captchaToken: 'bad' })).code).toBe('captcha_wrong')
    service.answerWith(() => ({ status: 503, text: 'down' }))
    expect(await attempt(PASSWORD, { ...type, captchaToken: 'good' })).toMatchObject({
      code: 'captcha_unavailable',
      httpStatus: 503,
    })
    service.answerWith(null)
    expect((await attempt(PASSWORD, { ...type, captchaToken: 'good' })).data).toMatch(/^ey/)
    expect(service.requests.at(-1)?.form).toMatchObject({ secret: 'secret', remoteip: '203.0.113.7' })
  } finally {
    await other.close()
    await service.close()
  }
})

/** A customer, and a network that only this test uses. */
async function someone(): Promise<{ email: string; address: string }> {
  count += 1
  const email = `person-${count}@example.com`
  expect((await bench.call(signup, { body: signUpBody(email) })).code).toBeNull()
  return { email, address: `198.51.100.${count}` }
}

/** One who has just mistyped often enough for a captcha. */
async function wronged() {
  const one = await someone()
  for (let tries = 0; tries < CAPTCHA_AFTER.pair; tries++) await tryLogin(one.email, WRONG, one.address)
  return one
}

function tryLogin(email: string, password: string, address: string, answer: object = {}) {
  return bench.call(login, { body: { ...loginBody(email, password), ...answer } }, { address })
}

async function isAsked(userId: string, address: string): Promise<boolean | null> {
  return (await bench.call(getCaptchaStatus, { query: { ...names, userId } }, { address })).data
}

/** A new captcha with the answer to its question, as a sign-in sends it. */
async function solved(change: Partial<Record<'captchaType' | 'captchaToken' | 'clientSecret', string>> = {}) {
  const { data } = await bench.call(getCaptcha, { query: { applicationId: APPLICATION_ID } })
  return {
    captchaType: 'Default',
    captchaToken: sumOf(data?.captchaQuestion ?? ''),
    clientSecret: data?.captchaId ?? '',
    ...change,
  }
}

function toFullWidth(digits: string): string {
  return digits.replace(/\d/g, digit => String.fromCodePoint(0xff10 + Number(digit)))
}
