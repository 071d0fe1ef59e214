import Stripe from 'stripe'
import { PaymentRefused, PaymentUnavailable } from '../port.ts'
import { failureOf } from './stripe-failures.ts'

/** A top-up asks two or three times, and the console gives it half a minute. */
const ASK_TIMEOUT_MS = 8_000
/** A page of a hundred events is far smaller. */
const ANSWER_BYTES_MAX = 16_777_216

/** Answers that say nothing of what was asked: a key that is wrong, two who ask at once, too many questions. */
const UNDECIDED_STATUSES: ReadonlySet<number> = new Set([401, 403, 408, 409, 425, 429])

/** What is needed to reach Stripe. */
export interface StripeAccess {
  readonly secretKey: string
  /** Null: Stripe's own. Another is a double of it in tests. */
  readonly apiUrl: string | null
}

/**
 * Makes the client of Stripe's API. It asks once: who asks again is the top-up's own call, or recovery.
 * @param access The secret key, and where the API is.
 */
export function createStripeClient({ secretKey, apiUrl }: StripeAccess): Stripe {
  const { hostname, port, protocol } = new URL(apiUrl ?? 'https://api.stripe.com')
  const isPlain = protocol === 'http:'
  return new Stripe(secretKey, {
    host: hostname,
    port: port === '' ? (isPlain ? 80 : 443) : Number(port),
    protocol: isPlain ? 'http' : 'https',
    httpClient: Stripe.createFetchHttpClient(fetchBounded),
    maxNetworkRetries: 0,
    timeout: ASK_TIMEOUT_MS,
    telemetry: false,
  })
}

/**
 * Asks Stripe, and says of an error what follows from it.
 * @throws PaymentUnavailable when nobody knows what was done; asking again is safe, as every creating call has its key.
 * @throws PaymentRefused when Stripe refused it for good, with why.
 */
export async function askStripe<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Stripe.errors.StripeError)) throw error
    // What the library's errors hold beside their words may open a payment: it is not logged.
    const cause = new Error(wordsOf(error))
    if (isUndecided(error)) throw new PaymentUnavailable('Stripe did not answer', { cause })
    throw new PaymentRefused(`Stripe refused: ${error.code ?? error.type}`, failureOf(error), { cause })
  }
}

/**
 * Makes something once for a key. Stripe gives the answer of a key again for a day, a failure of its own as well: then
 * nobody knows what was made, and it is made under a second key. Only for what moves no money by being there twice.
 */
export async function makeOnce<Answer>(
  key: string,
  make: (options: { idempotencyKey: string }) => Promise<Answer>,
): Promise<Answer> {
  try {
    return await make({ idempotencyKey: key })
  } catch (error) {
    if (!isKeptFailure(error)) throw error
    return await make({ idempotencyKey: `${key}:again` })
  }
}

function isKeptFailure(error: unknown): boolean {
  if (!(error instanceof Stripe.errors.StripeError) || (error.statusCode ?? 0) < 500) return false
  return error.headers?.['idempotent-replayed'] === 'true'
}

/** Whether Stripe has nothing of that name, or has deleted it. */
export function isMissing(error: unknown, param?: string): boolean {
  if (!(error instanceof Stripe.errors.StripeError) || error.code !== 'resource_missing') return false
  return param === undefined || error.param === param
}

/** Whether Stripe refused because the thing has moved on, or was done already. */
export function isOvertaken(error: unknown): boolean {
  return error instanceof Stripe.errors.StripeInvalidRequestError && error.statusCode === 400
}

/** Whether its key stands for something else that was asked. */
export function isOtherQuestion(error: unknown): boolean {
  return error instanceof Stripe.errors.StripeIdempotencyError && error.statusCode === 400
}

/** Whether a card was refused. */
export function isCardRefusal(error: unknown): boolean {
  return error instanceof Stripe.errors.StripeCardError
}

function isUndecided({ statusCode, type }: Stripe.errors.StripeError): boolean {
  if (type === 'StripeConnectionError' || statusCode === undefined) return true
  return statusCode >= 500 || UNDECIDED_STATUSES.has(statusCode)
}

function wordsOf({ type, code, statusCode, requestId, message }: Stripe.errors.StripeError): string {
  return `${type} ${code ?? ''} ${statusCode ?? ''} ${requestId ?? ''}: ${message}`
}

async function fetchBounded(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, { ...init, redirect: 'error' })
  const parts: Uint8Array<ArrayBuffer>[] = []
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += part.length
    if (bytes > ANSWER_BYTES_MAX) throw new TypeError('the answer is too long')
    parts.push(part)
  }
  return new Response(new Blob(parts), { status: response.status, headers: response.headers })
}
