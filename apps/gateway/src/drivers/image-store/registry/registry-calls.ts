import { z } from 'zod'
import { parseChallenges } from '../../../platform/http/parse-challenges.ts'
import { LayoutStoreError } from '../port.ts'

/** A repository of a registry, in which all images are kept. */
export interface RegistryPlace {
  /** Where the registry is, such as `https://registry.internal:5000`. */
  origin: string
  repository: string
  login: { username: string; password: string } | null
}

const SMALL_BYTES_MAX = 8 * 1024 * 1024
/** What brings no large answer is answered within this. */
const ANSWER_MS = 60_000
const tokenSchema = z.object({ token: z.string().optional(), access_token: z.string().optional() })
const TOKEN = /^[\x21-\x7e]+$/

export interface RegistryRequest {
  method: 'GET' | 'HEAD' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  headers?: Record<string, string>
  body?: Uint8Array<ArrayBuffer>
  /** Statuses that are answers; every other one is `unavailable`. */
  ok: readonly number[]
  signal: AbortSignal
  /** The answer is read for as long as it comes. */
  isLong?: boolean
}

/**
 * Asks one repository of a registry, as its operator's settings have it: by a login, or a token that the registry names a
 * service for.
 */
export function createRegistryCalls({ origin, repository, login }: RegistryPlace) {
  const base = new URL(`/v2/${repository}/`, origin)
  const basic = login && `Basic ${Buffer.from(`${login.username}:${login.password}`).toString('base64')}`
  let shown: string | null = null

  async function send(url: URL, request: RegistryRequest): Promise<Response> {
    const { method, headers, body, signal, isLong } = request
    const limit = isLong ? signal : AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)])
    // The registry alone is shown who asks.
    const authorization = shown !== null && url.origin === base.origin ? { authorization: shown } : {}
    try {
      return await fetch(url, {
        method,
        headers: { ...headers, ...authorization },
        signal: limit,
        ...(body && { body }),
      })
    } catch (cause) {
      if (signal.aborted) throw new LayoutStoreError('given_up', 'the call was given up', { cause })
      throw new LayoutStoreError('unavailable', `${base.host} does not answer`, { cause })
    }
  }

  async function authorize(header: string, signal: AbortSignal): Promise<string> {
    const challenges = parseChallenges([header])
    const bearer = challenges.find(({ scheme }) => scheme === 'bearer')
    const realm = bearer && URL.parse(bearer.parameters.get('realm') ?? '')
    if (!realm) {
      if (basic === null) throw new LayoutStoreError('unavailable', `${base.host} wants a login`)
      return basic
    }
    realm.searchParams.set('service', bearer.parameters.get('service') ?? '')
    realm.searchParams.set('scope', `repository:${repository}:pull,push,delete`)
    const answer = await fetch(realm, {
      headers: basic === null ? {} : { authorization: basic },
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
    }).catch(() => null)
    const said = answer?.ok ? tokenSchema.safeParse(await answer.json().catch(() => null)).data : undefined
    const token = said?.token ?? said?.access_token ?? ''
    if (!TOKEN.test(token))
      throw new LayoutStoreError('unavailable', `${base.host} gives no token for its login`)
    return `Bearer ${token}`
  }

  return {
    /**
     * Asks.
     * @param path Below the repository, or an address that the registry gave.
     * @throws LayoutStoreError `unavailable`, `given_up`; `full` where the registry says that it has no room.
     */
    async ask(path: string, request: RegistryRequest): Promise<Response> {
      const url = new URL(path, base)
      let answer = await send(url, request)
      if (answer.status === 401 && url.origin === base.origin) {
        await answer.body?.cancel()
        shown = await authorize(answer.headers.get('www-authenticate') ?? '', request.signal)
        answer = await send(url, request)
      }
      if (request.ok.includes(answer.status)) return answer
      await answer.body?.cancel()
      const isFull = answer.status === 507 || answer.status === 413
      throw new LayoutStoreError(
        isFull ? 'full' : 'unavailable',
        `${base.host} answers ${request.method} with ${answer.status}`,
      )
    },

    /** All of a small answer. */
    async bytesOf(answer: Response): Promise<Buffer> {
      const pieces: Uint8Array[] = []
      let bytes = 0
      for await (const piece of answer.body ?? []) {
        bytes += piece.length
        if (bytes > SMALL_BYTES_MAX)
          throw new LayoutStoreError('unavailable', `${base.host} answers without an end`)
        pieces.push(piece)
      }
      return Buffer.concat(pieces)
    },
  }
}

export type RegistryCalls = ReturnType<typeof createRegistryCalls>
