import { createDecipheriv } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type CasdoorServer, startCasdoorServer } from '../../../../test/casdoor-server.ts'
import { systemClock } from '../../../platform/clock.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { systemIds } from '../../../platform/ids.ts'
import type { IdentitySource, SourceProfile } from '../port.ts'
import { createCasdoorSource } from './casdoor-source.ts'

const PASSWORD = 'Correct-Horse-7'
const ADDRESS = '203.0.113.7'

let casdoor: CasdoorServer
let source: IdentitySource
beforeEach(async () => {
  casdoor = await startCasdoorServer()
  source = sourceFor(casdoor.settings)
})
afterEach(() => casdoor.close())

describe('what is sent to Casdoor', () => {
  test('names the customer’s address and English, and no cookie or bearer', async () => {
    casdoor.addUser({ email: 'ada@example.com' })
    await signIn('ada@example.com')
    await source.describeApplication()
    await signIn('ada@example.com')
    for (const { headers } of casdoor.seen) {
      expect(headers['accept-language']).toBe('en')
      expect(headers.cookie).toBeUndefined()
      expect(headers.authorization ?? 'Basic').toMatch(/^Basic/)
    }
    const logins = casdoor.seen.filter(({ path }) => path === 'login')
    expect(logins.map(({ headers }) => headers['x-forwarded-for'])).toEqual([ADDRESS, ADDRESS])
    // With the application's credentials, Casdoor would sign the application in.
    expect(logins.map(({ headers }) => headers.authorization)).toEqual([undefined, undefined])
  })

  test.each([
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['fe80::1%eth0', 'fe80::1'],
    ['2001:db8::7', '2001:db8::7'],
  ])('has the address %s as %s, which Casdoor can read', async (address, sent) => {
    await source.needsCaptcha({ username: 'ada@example.com', address })
    expect(casdoor.seen[0]?.headers['x-forwarded-for']).toBe(sent)
  })

  test('is not sent on to where a redirect leads', async () => {
    casdoor.behaviour.instead = () => 302
    await expect(source.findByEmail('ada@example.com')).rejects.toMatchObject({
      code: 'identity_unavailable',
    })
  })
})

describe('a sign-in', () => {
  test('[R1.8] gives the profile and a token that can be ended', async () => {
    const user = casdoor.addUser({
      email: 'ada@example.com',
      emailVerified: true,
      properties: { oauth_GitHub_username: 'ada', oauth_GitHub_accessToken: 'gho_secret' },
    })
    const answer = await signIn('Ada@Example.com')
    expect(answer).toMatchObject({
      outcome: 'right',
      profile: {
        id: user.id,
        owner: 'harbour',
        name: user.name,
        email: 'ada@example.com',
        emailVerified: true,
        blocked: false,
        hasPassword: true,
        properties: { oauth_GitHub_username: 'ada' },
      },
    })
    expect(JSON.stringify(answer)).not.toContain('gho_secret')
    expect(casdoor.tokens.size).toBe(1)
    if (answer.outcome === 'right') await source.endToken(answer.token)
    expect(casdoor.tokens.size).toBe(0)
  })

  test('by a wrong password has the tries that are left, then the minutes to wait', async () => {
    casdoor.addUser({ email: 'ada@example.com' })
    for (const triesLeft of [4, 3, 2, 1, 0]) {
      expect(await signIn('ada@example.com', 'wrong')).toEqual({ outcome: 'wrong', triesLeft })
    }
    expect(await signIn('ada@example.com', 'wrong')).toEqual({ outcome: 'frozen', minutes: 15 })
    expect(await signIn('nobody@example.com')).toEqual({ outcome: 'unknown' })
  })

  test.each([
    ['password or code is incorrect', { outcome: 'wrong', triesLeft: null }],
    ['Error', { outcome: 'wrong', triesLeft: null }],
    ["The user: harbour/ada doesn't exist", { outcome: 'unknown' }],
    ["The user: ada doesn't exist in LDAP server", { outcome: 'unknown' }],
    [
      'You have entered the wrong password or code too many times, please wait for 3 minutes and try again',
      { outcome: 'frozen', minutes: 3 },
    ],
  ])('that is refused with “%s” is understood', async (msg, outcome) => {
    answerLogin({ status: 'error', msg })
    expect(await signIn('ada@example.com')).toEqual(outcome)
  })

  test.each([
    [
      'Your password has expired. Please reset your password by clicking "Forgot password"',
      'password_expired',
    ],
    ['The user is forbidden to sign in, please contact the administrator', 'account_blocked'],
    [
      'The user has been deleted and cannot be used to sign in, please contact the administrator',
      'account_blocked',
    ],
    ['Turing test failed.', 'captcha_wrong'],
    ['invalid captcha provider: ', 'captcha_required'],
    ['error: grant_type: token is not supported in this application', 'identity_unavailable'],
    ['The organization: harbour has disabled users to signin', 'identity_unavailable'],
    ['Failed to parse client IP: x', 'identity_unavailable'],
  ])('[R4.10] [R8.1] that is refused with “%s” fails with %s', async (msg, code) => {
    answerLogin({ status: 'error', msg })
    await expect(signIn('ada@example.com')).rejects.toMatchObject({ code })
  })

  test.each([
    [{ data: 'RequiredUpdatePassword', data3: true }, 'password_expired'],
    [{ data: 'NextMfa', data2: [{ mfaType: 'app' }] }, 'second_factor_unsupported'],
    [{ data: 'RequiredMfa' }, 'second_factor_unsupported'],
    [{ data: 'SelectPlan' }, 'login_failed'],
    [{ data: { required: true } }, 'login_failed'],
    [{ data: null }, 'login_failed'],
  ])('that answers ok with %o gives no token but %s', async (answer, code) => {
    answerLogin({ status: 'ok', ...answer })
    await expect(signIn('ada@example.com')).rejects.toMatchObject({ code })
  })

  test('[R4.10] that demands a new password beside a token, as older versions do, ends that token', async () => {
    answerLogin({ status: 'ok', data: 'a.b.c', data3: true })
    await expect(signIn('ada@example.com')).rejects.toMatchObject({ code: 'password_expired' })
    const [farewell] = casdoor.seen.filter(({ path }) => path === 'logout')
    expect(new URLSearchParams(farewell?.body).get('id_token_hint')).toBe('a.b.c')
  })

  test('of a user of another organization is not taken', async () => {
    casdoor.addUser({ email: 'admin@example.com', owner: 'built-in' })
    await expect(signIn('admin@example.com')).rejects.toMatchObject({ code: 'identity_unavailable' })
  })

  test.each([
    ['AES', '0123456789abcdef0123456789abcdef', 'aes-128-cbc', 1],
    ['DES', '1123456789abcdef', 'des-ede3-cbc', 3],
  ])('wraps the password by %s where the organization wants that', async (type, key, algorithm, times) => {
    casdoor.behaviour.organization = { passwordObfuscatorType: type, passwordObfuscatorKey: key }
    casdoor.addUser({ email: 'ada@example.com' })
    await signIn('ada@example.com')
    const sent: string = JSON.parse(casdoor.seen.find(({ path }) => path === 'login')?.body ?? '{}').password
    const bytes = Buffer.from(sent, 'hex')
    const ivBytes = type === 'AES' ? 16 : 8
    const whole = Buffer.concat(Array<Buffer>(times).fill(Buffer.from(key, 'hex')))
    const decipher = createDecipheriv(algorithm, whole, bytes.subarray(0, ivBytes))
    const text = Buffer.concat([decipher.update(bytes.subarray(ivBytes)), decipher.final()])
    expect(text.toString('utf8')).toBe(PASSWORD)
  })

  test('asks for a captcha and takes its answer', async () => {
    casdoor.behaviour.captcha = 'Default'
    casdoor.addUser({ email: 'ada@example.com', signinWrongTimes: 5 })
    expect(await source.needsCaptcha({ username: 'ada@example.com', address: ADDRESS })).toBe(true)
    expect(await source.needsCaptcha({ username: 'nobody@example.com', address: ADDRESS })).toBe(false)
    const captcha = await source.makeCaptcha(ADDRESS)
    expect(captcha).toMatchObject({ type: 'Default', captchaId: 'captcha-1', captchaQuestion: '' })
    await expect(signIn('ada@example.com')).rejects.toMatchObject({ code: 'captcha_required' })
    const answer = { type: 'Default', token: '12345', secret: captcha.captchaId }
    expect(await signIn('ada@example.com', PASSWORD, { ...answer, token: '1' }).catch(codeOf)).toBe(
      'captcha_wrong',
    )
    expect((await source.signIn(request('ada@example.com', PASSWORD, answer))).outcome).toBe('right')
  })
})

describe('a sign-up', () => {
  const wanted = {
    email: 'new@example.com',
    displayName: 'Grace',
    password: PASSWORD,
    language: 'en' as const,
    captcha: null,
    address: ADDRESS,
  }

  test('[R7.1] makes a user by a name that Casdoor takes', async () => {
    expect(await source.signUp(wanted)).toMatchObject({ email: 'new@example.com', displayName: 'Grace' })
    expect(casdoor.users[0]?.name).toMatch(/^c-[a-z0-9]+$/)
    expect(await source.signUp(wanted)).toBeNull()
  })

  test('takes an address that somebody else had before', async () => {
    const former = await source.signUp(wanted)
    Object.assign(casdoor.userByEmail(wanted.email) ?? {}, { email: 'moved@example.com' })
    const now = await source.signUp(wanted)
    expect(now?.id).not.toBe(former?.id)
    expect(now?.name).not.toBe(former?.name)
  })

  test.each([
    ['The password must have at least 8 characters', 'password_too_weak'],
    ['The application does not allow to sign up new account', 'signup_failed'],
    ['The verification code has not been sent yet!', 'signup_failed'],
    ['Turing test failed.', 'captcha_wrong'],
  ])('that is refused with “%s” fails with %s', async (msg, code) => {
    casdoor.behaviour.instead = ({ path }) => (path === 'signup' ? { status: 'error', msg } : null)
    await expect(source.signUp(wanted)).rejects.toMatchObject({ code })
  })

  test.each(['UNIQUE constraint failed: user.owner, user.name', "Error 1062: Duplicate entry 'x' for key"])(
    'that the database refuses with “%s” was quicker elsewhere',
    async msg => {
      casdoor.addUser({ email: wanted.email })
      casdoor.behaviour.instead = ({ path }) => (path === 'signup' ? { status: 'error', msg } : null)
      expect(await source.signUp(wanted)).toBeNull()
    },
  )
})

describe('a user', () => {
  test.each([true, false])('is renamed by a version that wants whole users: %s', async wantsWholeUsers => {
    casdoor.behaviour.wantsWholeUsers = wantsWholeUsers
    const profile = await known()
    await source.rename(profile, 'Ada & Grace')
    expect(casdoor.users[0]?.displayName).toBe('Ada & Grace')
    expect(casdoor.seen.at(-1)?.query.get('columns')).toBe('display_name')
  })

  test('whose name is an address with a plus is changed by a part alone, which Casdoor takes', async () => {
    const profile = await known({ name: 'ada+gpu@example.com' })
    await source.confirmEmail(profile)
    expect(JSON.parse(casdoor.seen.at(-1)?.body ?? '')).toEqual({ emailVerified: true })
    expect(casdoor.users[0]?.emailVerified).toBe(true)
  })

  test('gets a password', async () => {
    const profile = await known({ needUpdatePassword: true })
    const set = (password: string, oldPassword: string | null = null) =>
      source.setPassword(profile, { password, oldPassword, address: ADDRESS })
    expect(await set(PASSWORD)).toBe('same')
    expect(await set('Aaa-Horse-7')).toBe('changed')
    expect(await set('aaaa')).toBe('weak')
    expect(await set('With blank 7')).toBe('weak')
    expect(await set('Other-Harbour-8', 'wrong')).toBe('wrong')
    expect(await set('Other-Harbour-8', 'Aaa-Horse-7')).toBe('changed')
    expect(casdoor.users[0]).toMatchObject({
      plainPassword: 'Other-Harbour-8',
      needUpdatePassword: false,
    })
  })

  test('that is forbidden or deleted is blocked, and an unknown one is null', async () => {
    const user = casdoor.addUser({ email: 'ada@example.com', isForbidden: true })
    expect(await source.findById(user.id)).toMatchObject({ blocked: true })
    Object.assign(user, { isForbidden: false, isDeleted: true })
    expect(await source.findByEmail('ada@example.com')).toMatchObject({ blocked: true })
    expect(await source.findById('unknown')).toBeNull()
    expect(await source.findById('')).toBeNull()
  })

  test('is not taken for gone when Casdoor does not know the gateway', async () => {
    const stranger = sourceFor({ ...casdoor.settings, clientSecret: 'wrong' })
    await expect(stranger.findByEmail('nobody@example.com')).rejects.toMatchObject({
      code: 'identity_unavailable',
    })
    // It may answer anybody, with what it does not show to anybody taken out.
    casdoor.behaviour.instead = ({ path }) => (path === 'get-user' ? { status: 'ok', data: null } : null)
    await expect(stranger.findById('some-id')).rejects.toMatchObject({ code: 'identity_unavailable' })
    expect(await source.findById('some-id')).toBeNull()
  })
})

describe('the application', () => {
  test('[R3.2] has Casdoor’s other keys, lists for its nulls, and no secret', async () => {
    casdoor.behaviour.organization = { passwordObfuscatorType: 'AES', passwordObfuscatorKey: 'ab' }
    casdoor.behaviour.application = { samlClientSecret: 'not-masked', formOffset: 2 }
    const application = await source.describeApplication()
    expect(application).toMatchObject({
      name: 'harbour-console',
      providers: [],
      formOffset: 2,
      clientSecret: '***',
      samlClientSecret: '***',
      organizationObj: { passwordObfuscatorType: '', passwordObfuscatorKey: '' },
    })
  })

  test('is null where Casdoor has none by that name', async () => {
    const other = sourceFor({ ...casdoor.settings, application: 'other' })
    expect(await other.describeApplication()).toBeNull()
    expect(await other.findProblems()).toEqual([expect.stringContaining('CASDOOR_APPLICATION')])
  })

  test('is told about when it is not set up as it must be', async () => {
    expect(await source.findProblems()).toEqual([])
    casdoor.behaviour.application = {
      organization: 'other',
      grantTypes: ['authorization_code'],
      signinMethods: null,
      signupItems: [{ name: 'Email', visible: true, required: true, rule: 'Normal' }],
    }
    expect(await source.findProblems()).toEqual([
      expect.stringContaining('CASDOOR_ORGANIZATION'),
      expect.stringContaining('Token'),
      expect.stringContaining('Password'),
      expect.stringContaining('No verification'),
    ])
    const stranger = sourceFor({ ...casdoor.settings, clientSecret: 'wrong' })
    expect(await stranger.findProblems()).toEqual([expect.stringContaining('CASDOOR_CLIENT_SECRET')])
  })
})

describe('an answer', () => {
  test.each([
    ['HTTP 500', 500],
    ['HTTP 403 without a body', 403],
    ['a web page', '<!doctype html><title>Casdoor</title>'],
    ['nothing', ''],
    ['JSON that is no envelope', '[1, 2]'],
    ['an object that is no envelope', '{"status":"fine"}'],
  ])('that is %s is no answer', async (_, instead) => {
    casdoor.behaviour.instead = () => instead
    await expect(source.findByEmail('ada@example.com')).rejects.toBeInstanceOf(ApiError)
    await expect(source.findByEmail('ada@example.com')).rejects.toMatchObject({
      code: 'identity_unavailable',
    })
  })

  test('of a filter has fewer keys, and is understood', async () => {
    const text = '{"status":"error","msg":"Unauthorized operation","data":null,"data2":null}'
    casdoor.behaviour.instead = () => text
    const error = await source.findByEmail('ada@example.com').catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'identity_unavailable' })
    expect(error instanceof ApiError && String(error.cause)).toContain('CASDOOR_CLIENT_SECRET')
  })

  test.each(['\nnull', 'null', '{"status":"ok"}'])('is the first value of two, before %j', async second => {
    const first = { status: 'error', msg: 'password or code is incorrect } "', data: null }
    const msg = JSON.stringify({ ...first, msg: 'password or code is incorrect' })
    casdoor.behaviour.instead = ({ path }) => (path === 'login' ? msg + second : null)
    expect(await signIn('ada@example.com')).toEqual({ outcome: 'wrong', triesLeft: null })
    casdoor.behaviour.instead = ({ path }) => (path === 'login' ? JSON.stringify(first) + second : null)
    await expect(signIn('ada@example.com')).rejects.toMatchObject({ code: 'identity_unavailable' })
  })

  test('that does not come is given up', async () => {
    casdoor.behaviour.instead = () => 'hang'
    await expect(source.findByEmail('ada@example.com')).rejects.toMatchObject({
      code: 'identity_unavailable',
    })
  })

  test('of a server that is away is clear', async () => {
    const away = sourceFor({ ...casdoor.settings, url: 'http://127.0.0.1:9' })
    await expect(away.describeApplication()).rejects.toMatchObject({ code: 'identity_unavailable' })
  })
})

function sourceFor(settings: CasdoorServer['settings']): IdentitySource {
  return createCasdoorSource({ settings, clock: systemClock, ids: systemIds })
}

function request(username: string, password: string, captcha: Parameters<typeof signIn>[2] = null) {
  return { username, password, captcha, address: ADDRESS, stay: true }
}

function signIn(
  username: string,
  password = PASSWORD,
  captcha: { type: string; token: string; secret: string } | null = null,
) {
  return source.signIn(request(username, password, captcha))
}

function answerLogin(answer: { status: 'ok' | 'error'; msg?: string; data?: unknown; data3?: unknown }) {
  casdoor.behaviour.instead = ({ path }) => (path === 'login' ? answer : null)
}

async function known(more: Record<string, unknown> = {}): Promise<SourceProfile> {
  casdoor.addUser({ email: 'ada@example.com', ...more })
  const profile = await source.findByEmail('ada@example.com')
  if (!profile) throw new Error('the user is not there')
  return profile
}

const codeOf = (error: unknown) => (error instanceof ApiError ? error.code : error)
