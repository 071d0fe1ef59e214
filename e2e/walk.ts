import type { KeyObject } from 'node:crypto'
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  test as base,
  expect,
} from '@playwright/test'
import { PATIENCE_MS } from '../scripts/test/patience-ms.ts'
import { type Gateway, startGateway } from './gateway.ts'

/**
 * A test of a walk that needs no gateway of its own: one gateway serves all of these that a worker runs, and each
 * signs up a customer of its own. The demo customer's link works once, and belongs to `shell.spec.ts`. Who mistypes
 * passwords again and again comes from a network of their own (see `FROM_ELSEWHERE`), since one that does so is asked
 * for a captcha.
 */
export const test = base.extend<object, { gateway: Gateway }>({
  gateway: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads from the pattern what a fixture needs.
    async ({}, use) => {
      const gateway = await startGateway({ BERTH_TRUSTED_PROXIES: '127.0.0.1' })
      await use(gateway)
      await gateway.stop()
    },
    { scope: 'worker', timeout: 120_000 },
  ],
})

/** What a proxy says of a customer from another network, whose mistakes count for nobody else. */
export const FROM_ELSEWHERE = { 'x-forwarded-for': '127.0.0.99' }

const APPLICATION = { application: 'berth-console', organization: 'berth' }

/** Who walks. */
export interface Walker {
  email: string
  password: string
  name: string
}

/** Signs somebody up by a call, for walks that are not about the form. The address is not verified by that. */
export async function signUp({ origin }: Gateway, { email, password, name }: Walker): Promise<void> {
  await call(origin, 'POST', '/api/account/signup', {
    data: { ...APPLICATION, username: email, email, name, password, agreement: true },
  })
}

/** Verifies an address with the newest mail that it got, which comes a moment after the account is there. */
export async function verifyAddress({ origin }: Gateway, email: string): Promise<void> {
  let token = ''
  await expect(async () => {
    const mails: { items: { to: string; text: string }[] } = await call(origin, 'GET', '/api/mailbox')
    const tokens = mails.items
      .filter(({ to }) => to === email)
      .flatMap(({ text }) => /activty\?token=([\w-]+)/.exec(text)?.[1] ?? [])
    token = tokens[0] ?? ''
    expect(token, `a mail to ${email}`).not.toBe('')
  }).toPass({ timeout: PATIENCE_MS })
  const query = new URLSearchParams({ application: 'berth-console', token })
  await call(origin, 'GET', `/api/account/verify-email?${query}`)
}

/** Tops up ten dollars, which is more than any walk spends. */
export async function topUp({ origin }: Gateway, walker: Pick<Walker, 'email' | 'password'>): Promise<void> {
  const token = await logIn(origin, walker)
  await call(origin, 'POST', '/api/bill/topup', {
    data: { amount: 1_000, currency: 'USD', platform_name: 'testcard', source: '4242 4242 4242 4242' },
    headers: { authorization: `Bearer ${token}`, 'idempotency-key': crypto.randomUUID() },
  })
}

/**
 * Opens a browser of somebody's who is signed in: its session is made by a call, which costs no page.
 * @param options What else the browser is, such as its user agent, which the session is named after.
 */
export async function openSignedIn(
  browser: Browser,
  { origin }: Gateway,
  walker: Pick<Walker, 'email' | 'password'>,
  options: BrowserContextOptions = {},
): Promise<BrowserContext> {
  const { userAgent } = options
  const token = await logIn(origin, walker, userAgent === undefined ? {} : { 'user-agent': userAgent })
  const localStorage = [{ name: 'berth.token', value: token }]
  return await browser.newContext({
    baseURL: origin,
    viewport: { width: 1_440, height: 900 },
    storageState: { cookies: [], origins: [{ origin, localStorage }] },
    ...options,
  })
}

async function logIn(
  origin: string,
  { email, password }: Pick<Walker, 'email' | 'password'>,
  headers: Record<string, string> = {},
): Promise<string> {
  const data = { ...APPLICATION, type: 'token', username: email, password }
  return await call(origin, 'POST', '/api/account/login', { data, headers })
}

interface CallOptions {
  data?: object
  headers?: Record<string, string>
}

/**
 * Makes a call as any program would.
 * @returns The data of its answer.
 * @throws Where the gateway refuses it.
 */
export async function call(origin: string, method: string, path: string, options: CallOptions = {}) {
  const { data, headers = {} } = options
  const answer = await fetch(`${origin}/gateway${path}`, {
    method,
    headers: { ...headers, ...(data === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(data === undefined ? {} : { body: JSON.stringify(data) }),
  })
  const envelope = await answer.json()
  if (envelope.status !== 'ok') throw new Error(`${method} ${path}: ${JSON.stringify(envelope)}`)
  return envelope.data
}

/**
 * Whether what a browser complains of is its computer's doing: other tests make networks on it meanwhile, at which a
 * browser breaks off what it loads, and the page asks for it again.
 */
export function isOfComputer(complaint: string): boolean {
  return complaint.includes('net::ERR_NETWORK_CHANGED')
}

/** An ed25519 key as `ssh-keygen` writes it: the type, and base64 of type and key with their lengths. */
export function sshLineOf(key: KeyObject): string {
  const raw = Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url')
  const parts = [Buffer.from('ssh-ed25519'), raw].flatMap(part => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(part.length)
    return [length, part]
  })
  return `ssh-ed25519 ${Buffer.concat(parts).toString('base64')}`
}
