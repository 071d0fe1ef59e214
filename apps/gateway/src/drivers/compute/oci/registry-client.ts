import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import { OciFailure, type OciFault } from './oci-failure.ts'
import { bodyOf, get, type MayVisit, mayVisitNamed, mayVisitStranger, type Patience } from './outgoing.ts'
import { type ImageReference, isDigest } from './reference.ts'

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

const CHALLENGE_FIELD = /(\w+)="([^"]*)"/g
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const STATUS_FAULTS: ReadonlyMap<number, OciFault> = new Map([
  [401, 'refused'],
  [403, 'refused'],
  [404, 'not_found'],
  [429, 'rate_limited'],
])

const tokenAnswer = z.object({ token: z.string().optional(), access_token: z.string().optional() })
/** What may stand in a header. */
const TOKEN = /^[\x21-\x7e]+$/

/**
 * Asks one registry about one image, as one who has no account there. A token that it gives is told to it alone: not to
 * the hosts that it sends to for its blobs.
 * @param options.mayVisit Which other hosts than the registry's own may be asked.
 */
export function createRegistryClient(options: {
  reference: ImageReference
  patience: Patience
  signal: AbortSignal
  mayVisit?: MayVisit
}) {
  const { reference, patience, signal, mayVisit = mayVisitStranger } = options
  const { host, repository } = reference
  const base = new URL(`${isLocal(host) ? 'http' : 'https'}://${host}/v2/${repository}/`)
  let token: string | null = null

  const isRegistry = (url: URL) => url.origin === base.origin

  function visit(url: URL, headers: Record<string, string>): Promise<IncomingMessage> {
    const mine: Record<string, string> =
      token !== null && isRegistry(url) ? { authorization: `Bearer ${token}` } : {}
    const may = isRegistry(url) ? mayVisitNamed : mayVisit
    return get(url, { headers: { ...headers, ...mine }, may, patience, signal })
  }

  /** Asks, following where it is sent to. */
  async function follow(start: URL, headers: Record<string, string>): Promise<IncomingMessage> {
    let url = start
    for (let hops = 0; hops <= REDIRECTS_MAX; hops++) {
      const response = await visit(url, headers)
      if (!REDIRECTS.has(response.statusCode ?? 0)) return response
      response.destroy()
      const next = URL.parse(response.headers.location ?? '', url.href)
      if (next?.username !== '' || next.password !== '') break
      url = next
    }
    throw new OciFailure('unreachable', 'it sends from one place to the next')
  }

  async function ask(path: string, headers: Record<string, string>): Promise<IncomingMessage> {
    const url = new URL(path, base)
    let response = await follow(url, headers)
    if (response.statusCode === 401) {
      response.destroy()
      token = await fetchToken(response.headers['www-authenticate'] ?? '')
      response = await follow(url, headers)
    }
    const status = response.statusCode ?? 0
    if (status === 200 || status === 206) return response
    response.destroy()
    throw new OciFailure(STATUS_FAULTS.get(status) ?? 'unreachable', `status ${status}`)
  }

  async function fetchToken(challenge: string): Promise<string> {
    const fields = new Map([...challenge.matchAll(CHALLENGE_FIELD)].map(([, name, value]) => [name, value]))
    const realm = /^bearer\s/i.test(challenge) ? URL.parse(fields.get('realm') ?? '') : null
    if (realm?.username !== '' || realm.password !== '') throw new OciFailure('refused')
    token = null
    realm.searchParams.set('service', fields.get('service') ?? '')
    realm.searchParams.set('scope', `repository:${repository}:pull`)
    const response = await visit(realm, { accept: 'application/json' })
    if (response.statusCode !== 200) {
      response.destroy()
      throw new OciFailure(STATUS_FAULTS.get(response.statusCode ?? 0) ?? 'refused')
    }
    const body = await bodyOf(response, TOKEN_BYTES_MAX, patience)
    const answer = tokenAnswer.safeParse(parseJson(body))
    const given = answer.data?.token || answer.data?.access_token || ''
    if (!TOKEN.test(given)) throw new OciFailure('refused', 'its tokens are none')
    return given
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

function isLocal(host: string): boolean {
  return /^(localhost|127(\.\d+){3})(:\d+)?$/.test(host)
}
