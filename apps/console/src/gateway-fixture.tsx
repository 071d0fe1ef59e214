import { getAccount, type User } from '@berth/contract/account'
import type { Call } from '@berth/contract/call'
import { calls } from '@berth/contract/calls'
import { GATEWAY_PREFIX, IDEMPOTENCY_KEY_HEADER } from '@berth/contract/envelope'
import { QueryClientProvider } from '@tanstack/react-query'
import i18next from 'i18next'
import type { ReactNode } from 'react'
import { onTestFinished } from 'vitest'
import { startApi } from './api/client.ts'
import { createIdempotencyKeys } from './api/idempotency-keys.ts'
import { queryClient } from './api/query-client.ts'
import { askToConfirm } from './app/session/confirm-sign-in.ts'
import { session, startSession } from './app/session/session.ts'
import { createSession } from './app/session/session-store.ts'
import { sampleOf } from './schema-fixture.ts'

/** A request as it left the console. */
export interface Sent {
  operation: string
  path: string
  body: unknown
  keepalive: boolean
  idempotencyKey: string | null
  /** Given when whoever asked wants no answer any more. */
  signal: AbortSignal | null
}

/** What answers in a test where the gateway would: data, a refusal, or a whole response, for the operations that a test is about. */
export type Answers = Record<string, (sent: Sent) => unknown>

/** An answer that refuses. */
export class Refusal {
  readonly fields: readonly { path: string; rule: string; msg: string }[]
  readonly code: string
  readonly status: number
  constructor(
    fields: readonly { path: string; msg: string }[],
    code: string = 'validation_failed',
    status: number = 400,
  ) {
    this.fields = fields.map(field => ({ ...field, rule: 'not_allowed' }))
    this.code = code
    this.status = status
  }
}

/** An account as the gateway answers it. */
export const customer = (about: Partial<User> = {}): User => ({
  ...(sampleOf(getAccount.data) as User),
  id: 'u-1',
  accountId: '1000001',
  name: 'mira@example.org',
  email: 'mira@example.org',
  displayName: 'Mira',
  emailVerified: true,
  needUpdatePassword: false,
  password: '***',
  ...about,
})

/**
 * Wires the console's request layer and session to answers of the test, until the test ends. What a test does not
 * answer is answered by a sample that the call's own schema allows.
 * @param options.user Who is signed in; null for a guest.
 * @param options.health Told when the gateway is asked whether it is there.
 * @returns What was sent so far.
 */
export async function answerCalls(
  answers: Answers = {},
  options: { user?: User | null; health?: () => unknown } = {},
): Promise<{ sent: Sent[] }> {
  const { user = customer() } = options
  const sent: Sent[] = []
  const browsersOwn = globalThis.fetch
  globalThis.fetch = async (address, init = {}) => {
    if (String(address).endsWith('/health')) {
      options.health?.()
      return Response.json({})
    }
    const call = callAt(init.method ?? 'GET', String(address))
    const request: Sent = {
      operation: call.operation,
      path: String(address),
      body: init.body ? parsed(String(init.body)) : null,
      keepalive: init.keepalive ?? false,
      idempotencyKey: new Headers(init.headers).get(IDEMPOTENCY_KEY_HEADER),
      signal: init.signal ?? null,
    }
    sent.push(request)
    if (init.signal?.aborted) throw init.signal.reason
    const answer = await (answers[call.operation]?.(request) ?? sampleOf(call.data))
    init.signal?.throwIfAborted()
    if (answer instanceof Response) return answer
    return answer instanceof Refusal
      ? refused(answer)
      : Response.json({ status: 'ok', msg: '', data: answer })
  }
  onTestFinished(() => {
    globalThis.fetch = browsersOwn
    queryClient.clear()
    sessionStorage.clear()
    localStorage.clear()
  })
  startApi({
    origin: '',
    readToken: () => (user === null ? null : 'token'),
    readLanguage: () => 'en',
    keys: createIdempotencyKeys(sessionStorage),
    textOf: code => String(i18next.t(`errors:${code}` as 'errors:network')),
    onFailure: () => undefined,
    confirmSignIn: askToConfirm,
  })
  startSession(
    createSession({
      readToken: () => (user === null ? null : 'token'),
      writeToken: () => undefined,
      fetchUser: async () => user ?? customer(),
      endSession: async () => undefined,
      writeCookies: () => undefined,
      clearCookies: () => undefined,
      forget: () => undefined,
      onUserGone: () => undefined,
      onPasswordExpired: () => undefined,
      reload: () => undefined,
      goHome: () => undefined,
    }),
  )
  await session().start()
  return { sent }
}

/** What a component of the shell stands in, besides its page. */
export function InShell({ children }: { children: ReactNode }) {
  return <QueryClientProvider client={queryClient}>{children}</QueryClientProvider>
}

function callAt(method: string, address: string): Call {
  const path = address.replace(GATEWAY_PREFIX, '').replace(/\?.*$/, '')
  const found = (calls as readonly Call[]).filter(
    call => call.method === method && new RegExp(`^${call.path.replace(/\{\w+\}/g, '[^/]+')}$`).test(path),
  )
  // A path that is spelled out comes before one with a part to fill in.
  const call = found.toSorted((a, b) => a.path.split('{').length - b.path.split('{').length)[0]
  if (!call) throw new Error(`${method} ${path} is no call of the contract.`)
  return call
}

function refused({ fields, code, status }: Refusal): Response {
  return Response.json(
    { status: 'error', code, msg: `refused: ${code}`, fields, request_id: 'req-1', data: null },
    { status },
  )
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return Object.fromEntries(new URLSearchParams(text))
  }
}
