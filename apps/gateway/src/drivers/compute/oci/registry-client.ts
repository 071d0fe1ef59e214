import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import { parseChallenges } from '../../../platform/http/parse-challenges.ts'
import { type ImageReference, isDigest } from '../port/image-reference.ts'
import type { RegistryTerms } from '../port/registry-access.ts'
import { OciFailure, type OciFault } from './oci-failure.ts'
import { bodyOf, get, mayVisitNamed, mayVisitStranger, type Patience } from './outgoing.ts'

/** As registries keep to themselves. */
const MANIFEST_BYTES_MAX = 4 * 1024 * 1024
const TOKEN_BYTES_MAX = 64 * 1024
const REDIRECTS_MAX = 5

const MANIFESTS = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
]

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

const tokenAnswer = z.object({ token: z.string().optional(), access_token: z.string().optional() })
/** What may stand in a header. */
const TOKEN = /^[\x21-\x7e]+$/

/**
 * Asks one registry about one image. A login is told to the registry alone, and to the service that it names for its
 * tokens; a token to the registry alone: neither to the hosts that it sends to for its blobs, and never by a redirect.
 */
export function createRegistryClient(options: {
  reference: ImageReference
  terms: RegistryTerms
  patience: Patience
  signal: AbortSignal
}) {
  const { reference, terms, patience, signal } = options
  const { host, repository } = reference
  // One on this computer speaks TLS where somebody vouches for it.
  const scheme = isLocal(host) && terms.ca === null ? 'http' : 'https'
  const base = new URL(`${scheme}://${host}/v2/${repository}/`)
  const denied: OciFault = terms.login === null ? 'needs_login' : 'login_refused'
  const basic = terms.login && basicOf(terms.login)
  /** What the registry is shown. */
  let authorization: string | null = null

  const isRegistry = (url: URL) => url.origin === base.origin
  /** Whether the operator named a host, with or without the port that its scheme has anyway. */
  const isNamed = (url: URL) =>
    isRegistry(url) || terms.also.some(name => URL.parse(`${url.protocol}//${name}`)?.origin === url.origin)

  async function visit(
    url: URL,
    headers: Record<string, string>,
    shown: string | null,
  ): Promise<IncomingMessage> {
    const isOurs = isNamed(url)
    try {
      return await get(url, {
        headers: { ...headers, ...(shown !== null && { authorization: shown }) },
        may: isOurs && !terms.is_stranger ? mayVisitNamed : mayVisitStranger,
        ca: isOurs ? terms.ca : null,
        patience,
        signal,
      })
    } catch (error) {
      if (!(error instanceof OciFailure) || error.fault !== 'leads_astray') throw error
      throw new OciFailure('leads_astray', `${url.host}; \`also\` of ${host} in \`registries\` may name it`)
    }
  }

  /** Asks, following where it is sent to. `by` is whether the registry itself has answered in the end. */
  async function follow(
    start: URL,
    headers: Record<string, string>,
  ): Promise<{ response: IncomingMessage; status: number; byRegistry: boolean }> {
    let url = start
    for (let hops = 0; hops <= REDIRECTS_MAX; hops++) {
      const byRegistry = isRegistry(url)
      const response = await visit(url, headers, byRegistry ? authorization : null)
      const status = response.statusCode ?? 0
      if (!REDIRECTS.has(status)) return { response, status, byRegistry }
      response.destroy()
      const next = URL.parse(response.headers.location ?? '', url.href)
      if (next?.username !== '' || next.password !== '') break
      url = next
    }
    throw new OciFailure('unreachable', 'it sends from one place to the next')
  }

  async function ask(path: string, headers: Record<string, string>): Promise<IncomingMessage> {
    const url = new URL(path, base)
    let found = await follow(url, headers)
    // What another host asks for is none of the registry's business.
    if (found.status === 401 && found.byRegistry) {
      found.response.destroy()
      authorization = await authorize(found.response.headers['www-authenticate'] ?? '')
      found = await follow(url, headers)
    }
    const { response, status, byRegistry } = found
    if (status === 200 || status === 206) return response
    response.destroy()
    throw byRegistry ? refusal(status) : new OciFailure('unreachable', `status ${status}`)
  }

  /** What shows the registry who asks, in the way that it wants to be shown. */
  async function authorize(header: string): Promise<string> {
    const challenges = parseChallenges([header])
    const bearer = challenges.find(({ scheme }) => scheme === 'bearer')
    if (bearer) return `Bearer ${await fetchToken(bearer.parameters)}`
    if (basic === null || !challenges.some(({ scheme }) => scheme === 'basic')) throw new OciFailure(denied)
    return basic
  }

  async function fetchToken(parameters: ReadonlyMap<string, string>): Promise<string> {
    const realm = URL.parse(parameters.get('realm') ?? '')
    if (realm?.username !== '' || realm.password !== '')
      throw new OciFailure('unreachable', 'it names nobody')
    realm.searchParams.set('service', parameters.get('service') ?? '')
    realm.searchParams.set('scope', `repository:${repository}:pull`)
    const response = await visit(realm, { accept: 'application/json' }, basic)
    if (response.statusCode !== 200) {
      response.destroy()
      throw refusal(response.statusCode ?? 0, 'unreachable')
    }
    const body = await bodyOf(response, TOKEN_BYTES_MAX, patience)
    const answer = tokenAnswer.safeParse(parseJson(body))
    const given = answer.data?.token || answer.data?.access_token || ''
    if (!TOKEN.test(given)) throw new OciFailure('unreachable', 'its tokens are none')
    return given
  }

  /** @param absent What it means that there is nothing. */
  function refusal(status: number, absent: OciFault = 'not_found'): OciFailure {
    if (status === 401 || status === 403) return new OciFailure(denied)
    if (status === 404) return new OciFailure(absent)
    return new OciFailure(status === 429 ? 'rate_limited' : 'unreachable', `status ${status}`)
  }

  return {
    /**
     * A manifest, or an index of several, by its tag or digest.
     * @throws OciFailure.
     */
    async manifest(version: string): Promise<{ digest: string; body: Buffer }> {
      const response = await ask(`manifests/${version}`, { accept: MANIFESTS.join(', ') })
      const body = await bodyOf(response, MANIFEST_BYTES_MAX, patience)
      const digest = `sha256:${createHash('sha256').update(body).digest('hex')}`
      if (isDigest(version) && digest !== version) throw new OciFailure('digest_wrong')
      return { digest, body }
    },
    /**
     * The bytes of a blob, from one of them on.
     * @returns `from` is where they begin, which is at the front where the registry cannot begin later.
     * @throws OciFailure.
     */
    async blob(digest: string, from: number): Promise<{ response: IncomingMessage; from: number }> {
      const range: Record<string, string> = from > 0 ? { range: `bytes=${from}-` } : {}
      const response = await ask(`blobs/${digest}`, range)
      const begins = /^bytes (\d{1,16})-/.exec(response.headers['content-range'] ?? '')?.[1]
      if (response.statusCode !== 206) return { response, from: 0 }
      if (Number(begins) === from) return { response, from }
      response.destroy()
      throw new OciFailure('unreachable', 'it sends another part than it was asked for')
    },
  }
}

export type RegistryClient = ReturnType<typeof createRegistryClient>

/** Reads JSON that somebody sent; null where it is none. */
export function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return null
  }
}

function basicOf({ username, password }: { username: string; password: string }): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}

function isLocal(host: string): boolean {
  return /^(localhost|127(\.\d+){3})(:\d+)?$/.test(host)
}
