import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { CasdoorSettings } from '../src/drivers/identity/casdoor/casdoor-source.ts'

const SIGN_IN_TRIES = 5
const FROZEN_MINUTES = 15
const ORGANIZATION = 'harbour'
const APPLICATION = 'harbour-console'
const CLIENT_ID = 'harbour-client'
const CLIENT_SECRET = 'harbour-secret'

/** A user as Casdoor has it, with what it hides. */
export interface FakeUser extends Record<string, unknown> {
  owner: string
  name: string
  id: string
  email: string
  displayName: string
  plainPassword: string
  signinWrongTimes: number
}

/** A request as it came. */
export interface SeenRequest {
  path: string
  query: URLSearchParams
  headers: IncomingMessage['headers']
  body: string
}

interface Answer {
  status: 'ok' | 'error'
  msg?: string
  data?: unknown
  data2?: unknown
  data3?: unknown
}

const ok = (data: unknown = null, more: Partial<Answer> = {}): Answer => ({ status: 'ok', data, ...more })
const no = (msg: string, data: unknown = null): Answer => ({ status: 'error', msg, data })

/**
 * A server that speaks as much of Casdoor's protocol as the gateway does: its answers and messages, its envelope, its
 * cookies. It keeps users in memory and remembers what it was asked.
 */
export async function startCasdoorServer() {
  const users: FakeUser[] = []
  const tokens = new Map<string, FakeUser>()
  const seen: SeenRequest[] = []
  /** What a test sets to have an answer, or all of them, be otherwise. */
  const behaviour = {
    /** Before 3.50, update-user takes a whole user or none. */
    wantsWholeUsers: false,
    /** Instead of what would be answered to a path; null for as usual. */
    instead: null as null | ((request: SeenRequest) => Answer | string | number | 'hang' | null),
    /** Runs after a request was carried out, before it is answered; null for at once. */
    afterwards: null as null | ((request: SeenRequest) => Promise<void>),
    organization: {} as Record<string, unknown>,
    application: {} as Record<string, unknown>,
    /** New passwords that the organization's rules refuse. */
    refusedPasswords: /(.)\1\1/,
    captcha: 'none' as 'none' | 'Default',
  }

  const find = (by: (user: FakeUser) => boolean) => users.find(by) ?? null
  const named = (id: string | null) => find(user => `${user.owner}/${user.name}` === id)

  const handlers: Record<string, (request: SeenRequest, isApplication: boolean) => Answer> = {
    'get-application': ({ query }, isApplication) => {
      if (query.get('id') !== `admin/${APPLICATION}`) return ok(null)
      return ok({ ...describeApplication(isApplication, behaviour.organization), ...behaviour.application })
    },

    login: ({ body, headers }) => {
      const form = JSON.parse(body)
      return form.provider ? visit(form, headers.authorization) : signIn(form)
    },

    unlink: ({ body, headers }) => {
      const user = tokens.get((headers.authorization ?? '').replace('Bearer ', ''))
      const { providerType, user: given } = JSON.parse(body)
      if (!user) return no('Please login first')
      if (given.id !== user.id) return no("You are not the global admin, you can't unlink other users")
      const key = `oauth_${providerType}_id`
      if (!given.properties?.[key]) return no('Please link first')
      Object.assign(user, { properties: { ...(user.properties as object), [key]: '' } })
      return ok()
    },

    signup: ({ body }) => {
      const { username, name, password, email, organization, application } = JSON.parse(body)
      if (organization !== ORGANIZATION) return no(`The organization: ${organization} does not exist`)
      if (application !== APPLICATION) return no(`The application: ${application} does not exist`)
      if (/\s/.test(username) || username.includes('@')) return no('Username cannot be an email address')
      if (find(user => user.email === email.toLowerCase())) return no('Email already exists')
      if (find(user => user.name === username)) return no('Username already exists')
      if (password.length < 8) return no('The password must have at least 8 characters')
      addUser({ name: username, displayName: name, email: email.toLowerCase(), plainPassword: password })
      return ok(`${ORGANIZATION}/${username}`)
    },

    logout: ({ body }) => {
      const token = new URLSearchParams(body).get('id_token_hint')
      if (token === null) return ok()
      return tokens.delete(token) ? ok() : no('Token not found, invalid accessToken')
    },

    'get-user': ({ query }, isApplication) => {
      if (!isApplication) return no('Please login first')
      const email = query.get('email')
      const found = find(user => (email ? user.email === email : user.id === query.get('userId')))
      return ok(found && shown(found))
    },

    'update-user': ({ query, body }, isApplication) => {
      if (!isApplication) return no('Unauthorized operation')
      const user = named(query.get('id'))
      if (!user) return no(`The user: ${query.get('id')} doesn't exist`)
      const given = JSON.parse(body)
      if (behaviour.wantsWholeUsers && (given.owner !== user.owner || given.name !== user.name)) {
        return no('Unauthorized operation')
      }
      for (const column of (query.get('columns') ?? '').split(',')) {
        const key = column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
        Object.assign(user, { [key]: given[key] })
      }
      return ok('Affected')
    },

    'delete-user': ({ body }, isApplication) => {
      if (!isApplication) return no('Unauthorized operation')
      const { owner, name } = JSON.parse(body)
      const user = named(`${owner}/${name}`)
      if (user) users.splice(users.indexOf(user), 1)
      return ok(user ? 'Affected' : 'Unaffected')
    },

    'set-password': ({ body }, isApplication) => {
      const form = new URLSearchParams(body)
      if (!isApplication) return no('Please login first', 'Please login first')
      const user = named(`${form.get('userOwner')}/${form.get('userName')}`)
      const wanted = form.get('newPassword') ?? ''
      const old = form.get('oldPassword') ?? ''
      if (!user) return no(`The user: x doesn't exist`)
      if (wanted.includes(' ')) return no('New password cannot contain blank space.')
      if (old !== '' && old !== user.plainPassword) return wrongPassword(user)
      if (behaviour.refusedPasswords.test(wanted))
        return no('The password must not contain any repeated characters')
      if (wanted === user.plainPassword) {
        return no('The new password must be different from your current password')
      }
      Object.assign(user, { plainPassword: wanted, needUpdatePassword: false })
      return ok()
    },

    'get-captcha-status': ({ query }) => {
      const user = find(({ email }) => email === query.get('userId'))
      return ok(behaviour.captcha !== 'none' && (user?.signinWrongTimes ?? 0) >= SIGN_IN_TRIES)
    },

    'get-captcha': () =>
      ok(
        behaviour.captcha === 'none'
          ? { owner: '', name: '', type: 'none', clientSecret: '' }
          : { type: 'Default', captchaId: 'captcha-1', captchaImage: 'iVBORw0KGgo=', clientSecret: '' },
      ),
  }

  function addUser(given: Partial<FakeUser> & { email: string }): FakeUser {
    const user: FakeUser = {
      owner: ORGANIZATION,
      name: `c-${randomUUID().slice(0, 8)}`,
      id: randomUUID(),
      createdTime: '2026-03-01T11:59:00Z',
      type: 'normal-user',
      displayName: 'Ada',
      avatar: '',
      emailVerified: false,
      isForbidden: false,
      isDeleted: false,
      needUpdatePassword: false,
      plainPassword: 'Correct-Horse-7',
      signinWrongTimes: 0,
      properties: null,
      address: [],
      groups: null,
      ...given,
    }
    users.push(user)
    return user
  }

  function wrongPassword(user: FakeUser): Answer {
    if (user.signinWrongTimes >= SIGN_IN_TRIES) return frozen()
    user.signinWrongTimes += 1
    const left = SIGN_IN_TRIES - user.signinWrongTimes
    return no(`password or code is incorrect, you have ${left} remaining chances`)
  }

  /** What another service gave: here, the code is the name and the address of who came. */
  function visit(form: Record<string, string>, authorization: string | undefined): Answer {
    const { provider = '', code = '', state, method, redirectUri } = form
    if (state !== APPLICATION) return no(`State expected: ${APPLICATION}, but got: ${state}`)
    if (!redirectUri) return no('redirectUri is missing')
    if (code === 'bad') return no('Failed to login in: bad_verification_code')
    const [subject = '', email = ''] = code.split('|')
    const key = keyOf(provider)
    const owner = find(({ properties }) => (properties as Record<string, string> | null)?.[key] === subject)
    if (method === 'link') {
      const user = tokens.get((authorization ?? '').replace('Bearer ', ''))
      if (!user) return no("Access token doesn't exist in database")
      if (owner)
        return no(
          'The account for provider: X and username: x (x) is already linked to another account: y (y)',
        )
      Object.assign(user, { properties: { ...(user.properties as object), [key]: subject } })
      return ok(true)
    }
    const user =
      owner ?? addUser({ email, plainPassword: '', emailVerified: true, properties: { [key]: subject } })
    if (user.isForbidden) return no('The user is forbidden to sign in, please contact the administrator')
    const token = makeToken(user)
    tokens.set(token, user)
    return ok(token)
  }

  function signIn(form: Record<string, string>): Answer {
    const { type, application, organization, username = '', password = '' } = form
    if (type !== 'token') return no('the fake knows no other type')
    if (application !== APPLICATION) return no(`The application: ${application} does not exist`)
    const user = find(({ name, email }) => username === name || username.toLowerCase() === email)
    if (!user || user.isDeleted) return no(`The user: ${organization}/${username} doesn't exist`)
    if (user.isForbidden) return no('The user is forbidden to sign in, please contact the administrator')
    if (behaviour.captcha === 'Default' && user.signinWrongTimes >= 2) {
      if (!form.captchaType) return no('invalid captcha provider: ')
      if (form.captchaToken !== '12345' || form.clientSecret !== 'captcha-1') return no('Turing test failed.')
    } else if (user.signinWrongTimes >= SIGN_IN_TRIES) return frozen()
    if (password !== user.plainPassword) return wrongPassword(user)
    user.signinWrongTimes = 0
    if (user.needUpdatePassword) return ok('RequiredUpdatePassword', { data3: true })
    const token = makeToken(user)
    tokens.set(token, user)
    return ok(token, { data2: `refresh.${token}` })
  }

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const url = new URL(request.url ?? '/', 'http://casdoor')
    const asked: SeenRequest = {
      path: url.pathname.replace(/^\/api\//, ''),
      query: url.searchParams,
      headers: request.headers,
      body: Buffer.concat(chunks).toString('utf8'),
    }
    seen.push(asked)
    const instead = behaviour.instead?.(asked) ?? null
    if (instead === 'hang') return
    const answer = instead ?? answerTo(asked)
    await behaviour.afterwards?.(asked)
    send(response, answer)
  })

  function answerTo(asked: SeenRequest): Answer | string {
    const { authorization } = asked.headers
    // Casdoor looks at every bearer on every path, and knows none but its own.
    if (authorization?.startsWith('Bearer ') && !tokens.has(authorization.slice('Bearer '.length))) {
      return JSON.stringify({ status: 'error', msg: "Access token doesn't exist in database", data: null })
    }
    const credentials = Buffer.from(`${CLIENT_ID}:${CLIENT_SECRET}`).toString('base64')
    const handler = handlers[asked.path]
    return handler?.(asked, authorization === `Basic ${credentials}`) ?? no('no such path')
  }

  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const settings: CasdoorSettings = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    organization: ORGANIZATION,
    application: APPLICATION,
  }
  return {
    settings,
    users,
    tokens,
    seen,
    behaviour,
    addUser,
    userByEmail: (email: string) => find(user => user.email === email),
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
export type CasdoorServer = Awaited<ReturnType<typeof startCasdoorServer>>

function send(response: ServerResponse, answer: Answer | string | number): void {
  // A session for everybody, which the gateway must not pass on.
  response.setHeader('set-cookie', 'casdoor_session_id=somebody; Path=/; HttpOnly')
  if (typeof answer === 'number') {
    response.writeHead(answer, { location: 'http://127.0.0.1:1/' }).end()
    return
  }
  response.setHeader('content-type', 'application/json; charset=utf-8')
  const whole = { msg: '', sub: '', name: '', data: null, data2: null, data3: null }
  response.end(typeof answer === 'string' ? answer : JSON.stringify({ ...whole, ...answer }, null, 2))
}

/** A user without what Casdoor masks. */
function shown({ plainPassword, ...user }: FakeUser) {
  return { ...user, password: plainPassword === '' ? '' : '***' }
}

function frozen(): Answer {
  return no(
    `You have entered the wrong password or code too many times, please wait for ${FROZEN_MINUTES} minutes and try again`,
  )
}

/** Casdoor files what is linked under the type. */
function keyOf(provider: string): string {
  return `oauth_${provider === 'acme' ? 'Custom' : provider}_id`
}

/** Not signed: the gateway takes it from Casdoor itself, and shows it to nobody else. */
function makeToken({ id, owner, name }: FakeUser): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return [part({ alg: 'RS256' }), part({ sub: id, owner, name, jti: randomUUID() }), 'c2lnbmF0dXJl'].join('.')
}

function describeApplication(isApplication: boolean, organization: Record<string, unknown>) {
  const item = (name: string, rule: string) => ({ name, visible: true, required: true, rule })
  return {
    owner: 'admin',
    name: APPLICATION,
    displayName: 'Harbour',
    logo: 'https://example.com/logo.png',
    organization: ORGANIZATION,
    enableSignUp: true,
    enablePassword: false,
    signinMethods: [{ name: 'Password', displayName: 'Password', rule: 'All' }],
    signupItems: [item('Username', 'None'), item('Email', 'No verification'), item('Password', 'None')],
    signinItems: null,
    providers: null,
    termsOfUse: '',
    formOffset: 2,
    clientId: CLIENT_ID,
    clientSecret: isApplication ? CLIENT_SECRET : '***',
    grantTypes: isApplication ? ['authorization_code', 'token'] : [],
    organizationObj: {
      owner: 'admin',
      name: ORGANIZATION,
      passwordOptions: ['AtLeast8'],
      passwordSalt: isApplication ? 'salt' : '***',
      passwordObfuscatorType: '',
      passwordObfuscatorKey: '',
      ...organization,
    },
  }
}
