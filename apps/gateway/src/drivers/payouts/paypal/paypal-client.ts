import * as z from 'zod'
import type { Clock } from '../../../platform/clock.ts'
import { PayoutUnavailable } from '../port.ts'

const ASK_TIMEOUT_MS = 20_000
/** An answer about one payment is far smaller. */
const ANSWER_BYTES_MAX = 1_000_000
/** A token is thrown away so long before its end, so that none ends on its way. */
const TOKEN_MARGIN_S = 60

const tokenAnswer = z.object({
  access_token: z.string().min(1).max(4_000),
  expires_in: z.number().positive(),
})

/** What is needed to reach PayPal. */
export interface PaypalAccess {
  readonly clientId: string
  readonly secret: string
  /** `https://api-m.paypal.com`, the sandbox, or a double of it in tests. */
  readonly apiUrl: string
}

/** An answer of PayPal's, of an error as well; null where it was no JSON. */
export interface PaypalAnswer {
  status: number
  body: unknown
}

/**
 * Asks PayPal with a token of the application's own (OAuth 2.0, client credentials), which is kept until it ends.
 * @see https://developer.paypal.com/api/rest/authentication/
 */
export function createPaypalClient(access: PaypalAccess, { clock }: { clock: Clock }) {
  let token: { text: string; untilMs: number } | null = null

  async function send(path: string, init: RequestInit): Promise<PaypalAnswer> {
    try {
      const response = await fetch(new URL(path, access.apiUrl), {
        ...init,
        redirect: 'error',
        signal: AbortSignal.timeout(ASK_TIMEOUT_MS),
      })
      return { status: response.status, body: jsonOf(await readBounded(response)) }
    } catch (error) {
      throw new PayoutUnavailable('PayPal did not answer', { cause: error })
    }
  }

  async function accessToken(): Promise<string> {
    const nowMs = clock.now().getTime()
    if (token && token.untilMs > nowMs) return token.text
    const { status, body } = await send('/v1/oauth2/token', {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`${access.clientId}:${access.secret}`).toString('base64')}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: 'grant_type=client_credentials',
    })
    const answer = tokenAnswer.safeParse(body)
    if (status !== 200 || !answer.success) {
      throw new PayoutUnavailable(`PayPal gave no access token: HTTP ${status}`)
    }
    const { access_token: text, expires_in } = answer.data
    token = { text, untilMs: nowMs + Math.max(0, expires_in - TOKEN_MARGIN_S) * 1_000 }
    return text
  }

  return {
    /**
     * Asks a path of the API, once more with a new token where the one that is kept is refused.
     * @throws PayoutUnavailable without an answer, and without a token.
     */
    async ask(
      path: string,
      question: { method: 'GET' | 'POST'; json?: object; key?: string },
    ): Promise<PaypalAnswer> {
      const once = async () =>
        await send(path, {
          method: question.method,
          headers: {
            authorization: `Bearer ${await accessToken()}`,
            accept: 'application/json',
            ...(question.json && { 'content-type': 'application/json' }),
            ...(question.key !== undefined && { 'paypal-request-id': question.key }),
          },
          ...(question.json && { body: JSON.stringify(question.json) }),
        })
      const answer = await once()
      if (answer.status !== 401) return answer
      token = null
      return await once()
    },
  }
}

async function readBounded(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > ANSWER_BYTES_MAX) throw new Error('the answer is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
