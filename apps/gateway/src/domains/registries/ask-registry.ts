import type { RegistryCheckResult } from '@berth/contract/registries'
import * as z from 'zod'
import { type Challenge, parseChallenges } from '../../platform/http/parse-challenges.ts'
import { type Outbound, type OutboundAnswer, OutboundError } from './outbound.ts'

/** Who a registry is asked about. */
export interface RegistryLogin {
  /** Host, with a port where it is not the usual one. */
  registry: string
  username: string
  password: string
}

/** All questions together; less than the console waits. */
export const ASK_MS_MAX = 12_000
/** Docker Hub's name for people, and the host that speaks the protocol. */
const DOCKER_HUB = 'registry-1.docker.io'
const DOCKER_HUB_NAMES: readonly string[] = ['docker.io', 'index.docker.io', DOCKER_HUB]

const tokenAnswer = z.object({ token: z.string().optional(), access_token: z.string().optional() })
const WEB: readonly string[] = ['https:', 'http:']
/** What may stand in a header. */
const TOKEN = /^[\x21-\x7e]+$/

/** What an answer that is no answer of a registry comes to. */
export class NoRegistryError extends Error {}

/**
 * Asks a registry whether it takes a login, as a Docker client signs in: `/v2/`, then a token or Basic, as the registry
 * wants it.
 * @throws OutboundError `private` where the registry, or the host that it sends to for tokens, is not on the public
 *   internet.
 */
export async function askRegistry(outbound: Outbound, login: RegistryLogin): Promise<RegistryCheckResult> {
  const signal = AbortSignal.timeout(ASK_MS_MAX)
  try {
    return await ask(outbound, login, signal)
  } catch (error) {
    if (error instanceof NoRegistryError) return 'not_a_registry'
    if (!(error instanceof OutboundError) || error.fault === 'private') throw error
    return error.fault === 'unreachable' ? 'unreachable' : 'not_a_registry'
  }
}

async function ask(
  outbound: Outbound,
  login: RegistryLogin,
  signal: AbortSignal,
): Promise<RegistryCheckResult> {
  const { url, answer } = await openRegistry(outbound, { registry: login.registry, path: '/v2/', signal })
  const basic = basicOf(login)
  if (answer.status === 200) {
    // Open to everybody: whether it also knows this login shows when it is told.
    if (!speaksTheProtocol(answer)) return 'not_a_registry'
    return verdictOf(await outbound.get(url, { authorization: basic, signal }))
  }
  if (answer.status !== 401) return verdictOf(answer, 'not_a_registry')
  const challenges = parseChallenges(answer.headers['www-authenticate'] ?? [])
  const bearer = challenges.find(({ scheme }) => scheme === 'bearer')
  if (bearer) {
    const tokenUrl = tokenUrlOf(bearer, login.username)
    const granted = await outbound.get(tokenUrl, { authorization: basic, signal })
    if (granted.status !== 200) return verdictOf(granted)
    const authorization = `Bearer ${tokenOf(granted.text)}`
    return verdictOf(await outbound.get(url, { authorization, signal }))
  }
  if (!challenges.some(({ scheme }) => scheme === 'basic')) return 'not_a_registry'
  return verdictOf(await outbound.get(url, { authorization: basic, signal }))
}

/** A login as a header says it. */
export function basicOf({ username, password }: Omit<RegistryLogin, 'registry'>): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}

/**
 * The first question to a registry, which says nothing of a login: over TLS, and on loopback where that fails without.
 * @param asked What else it takes is passed on to `Outbound.get`.
 */
export async function openRegistry(
  outbound: Outbound,
  asked: { registry: string; path: string; signal: AbortSignal; accept?: string; bytesMax?: number },
): Promise<{ url: URL; answer: OutboundAnswer }> {
  const { registry, path, ...how } = asked
  const host = DOCKER_HUB_NAMES.includes(registry) ? DOCKER_HUB : registry
  const url = new URL(`https://${host}${path}`)
  try {
    return { url, answer: await outbound.get(url, how) }
  } catch (error) {
    const mayBePlain = error instanceof OutboundError && error.fault === 'unreachable'
    if (!mayBePlain || !outbound.mayBePrivate(registry)) throw error
    const plain = new URL(`http://${host}${path}`)
    const answer = await outbound.get(plain, how).catch(second => {
      throw second instanceof OutboundError && second.fault === 'insecure' ? error : second
    })
    return { url: plain, answer }
  }
}

function speaksTheProtocol({ headers }: OutboundAnswer): boolean {
  const version = headers['docker-distribution-api-version'] ?? []
  const type = headers['content-type'] ?? []
  return version.length > 0 || type.some(value => value.startsWith('application/json'))
}

/** What an answer to a login says. A registry that is busy or broken says nothing about it. */
function verdictOf({ status }: OutboundAnswer, denied: RegistryCheckResult = 'refused'): RegistryCheckResult {
  if (status === 200) return 'accepted'
  if (status === 401 || status === 403) return denied
  return status === 429 || status >= 500 ? 'unreachable' : 'not_a_registry'
}

/**
 * Where a registry sends for a token.
 * @param username Of whom it is; null for nobody.
 * @throws NoRegistryError.
 */
export function tokenUrlOf({ parameters }: Challenge, username: string | null): URL {
  const url = URL.parse(parameters.get('realm') ?? '')
  if (!url || !WEB.includes(url.protocol) || url.username || url.password) throw new NoRegistryError()
  for (const name of ['service', 'scope']) {
    const value = parameters.get(name)
    if (value) url.searchParams.set(name, value)
  }
  if (username !== null) url.searchParams.set('account', username)
  url.searchParams.set('client_id', 'berth')
  url.hash = ''
  return url
}

/** The token in an answer. @throws NoRegistryError. */
export function tokenOf(text: string): string {
  const parsed = tokenAnswer.safeParse(parseJson(text))
  const token = parsed.data?.token || parsed.data?.access_token || ''
  if (!TOKEN.test(token)) throw new NoRegistryError()
  return token
}

/** Reads JSON that somebody sent; null where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
