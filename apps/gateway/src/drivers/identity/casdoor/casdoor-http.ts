import * as z from 'zod'
import { ApiError } from '../../../platform/http/api-error.ts'

/** Where a Casdoor server is, and the application's own credentials there. */
export interface CasdoorAddress {
  /** Scheme, host and port. */
  url: string
  clientId: string
  clientSecret: string
}

/** Waits, within what the console grants the calls behind which they happen. */
export const CASDOOR_TIMEOUT_MS = { read: 4_000, write: 12_000, farewell: 2_000 } as const
/** An application with long texts of its own has some 100 KB. */
const ANSWER_BYTES_MAX = 2_000_000

/** What every controller of Casdoor answers; filters leave the last keys out. */
const envelope = z.object({
  status: z.enum(['ok', 'error']),
  msg: z.string().default(''),
  data: z.unknown().default(null),
  data2: z.unknown().default(null),
  data3: z.unknown().default(null),
})
export type CasdoorEnvelope = z.infer<typeof envelope>

export interface CasdoorRequest {
  /** Below `/api/`. */
  path: string
  query?: Record<string, string>
  /** A request with a body is a POST, one without a GET. Some paths read JSON, some a form, none both. */
  json?: unknown
  form?: Record<string, string>
  /**
   * Nobody in particular, the application itself, which Casdoor takes for an administrator, or whose token of
   * Casdoor's it is.
   */
  as: 'anyone' | 'application' | { token: string }
  /** Network address of the customer for whom it is asked; null where it is for nobody. */
  address: string | null
  timeoutMs: number
}

/**
 * Speaks to one Casdoor server. Every request is built from nothing: no header, token or cookie of a caller goes
 * along, and no cookie that Casdoor sets is kept or passed on, since one of them would be the application's own
 * session.
 */
export function createCasdoorHttp({ url, clientId, clientSecret }: CasdoorAddress) {
  const credentials = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`

  async function send(request: CasdoorRequest): Promise<string> {
    const { path, query = {}, json, form, as, address, timeoutMs } = request
    const target = new URL(`/api/${path}`, url)
    for (const [name, value] of Object.entries(query)) target.searchParams.set(name, value)
    const response = await fetch(target, {
      method: json === undefined && form === undefined ? 'GET' : 'POST',
      headers: {
        // Its messages are matched, so they must come in one language, whichever the customer speaks.
        'accept-language': 'en',
        accept: 'application/json',
        // Casdoor believes the first entry, for lockouts and lists of addresses: it must be the customer's.
        ...(address !== null && { 'x-forwarded-for': plainAddress(address) }),
        ...(as === 'application' && { authorization: credentials }),
        ...(typeof as === 'object' && { authorization: `Bearer ${as.token}` }),
        ...(json !== undefined && { 'content-type': 'application/json' }),
      },
      ...(json !== undefined && { body: JSON.stringify(json) }),
      ...(form !== undefined && { body: new URLSearchParams(form) }),
      // Followed, one would carry the application's credentials elsewhere.
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    })
    if (!response.ok) {
      await response.body?.cancel()
      throw new Error(`Casdoor answered ${path} with HTTP ${response.status}`)
    }
    return await readText(response, path)
  }

  return {
    /**
     * Asks Casdoor.
     * @returns Its envelope, of an error too: it answers 200 to nearly everything.
     * @throws ApiError `identity_unavailable` when there is no answer, or none that is an envelope.
     */
    async ask(request: CasdoorRequest): Promise<CasdoorEnvelope> {
      try {
        // A failing sign-in may write a second value after the first.
        return envelope.parse(firstJsonValue(await send(request)))
      } catch (error) {
        throw new ApiError('identity_unavailable', { cause: error })
      }
    },
  }
}
export type CasdoorHttp = ReturnType<typeof createCasdoorHttp>

async function readText(response: Response, path: string): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > ANSWER_BYTES_MAX) throw new Error(`Casdoor answered ${path} with too much`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Without the zone of IPv6, and without the wrapping that a dual-stack socket gives to IPv4. */
function plainAddress(address: string): string {
  const bare = address.replace(/%.*$/, '')
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1] ?? bare
}

/**
 * Reads the first JSON object of a text, whatever comes after it.
 * @param text An object, and perhaps more.
 * @throws SyntaxError when it does not begin with an object.
 */
function firstJsonValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const end = endOfObject(text)
    if (end === null) throw error
    return JSON.parse(text.slice(0, end))
  }
}

/** Where the object that the text begins with ends; null when it does not. */
function endOfObject(text: string): number | null {
  let depth = 0
  // A string is taken as a whole, so that a brace in it is not counted.
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}]/gs)) {
    if (token === '{') depth += 1
    if (token === '}') depth -= 1
    if (depth === 0) return token === '}' ? index + 1 : null
  }
  return null
}
