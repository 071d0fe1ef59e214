import * as z from 'zod'
import { CaptchaServiceFailed } from './port.ts'

/** A sign-in waits for it, and the console gives a sign-in half a minute. */
const VERIFY_TIMEOUT_MS = 5_000

/** What both services say of a token that is no good. Everything else is the fault of the keys or of the service. */
const TOKEN_FAULTS: ReadonlySet<string> = new Set([
  'missing-input-response',
  'invalid-input-response',
  'expired-input-response',
  'already-seen-response',
  'invalid-or-already-seen-response',
  'timeout-or-duplicate',
])

const verdict = z.object({ success: z.boolean(), 'error-codes': z.array(z.string()).default([]) })

/**
 * Sends a token to a `siteverify` address: a form with `secret`, `response` and `remoteip`, as both services take it.
 * @param url The address.
 * @param form What is sent.
 * @returns Whether the token is good.
 * @throws CaptchaServiceFailed when it was not judged.
 */
export async function askSiteverify(url: string, form: Record<string, string>): Promise<boolean> {
  const { success, 'error-codes': codes } = await send(url, form)
  if (success) return true
  if (codes.every(code => TOKEN_FAULTS.has(code))) return false
  throw new CaptchaServiceFailed(`it refuses to judge: ${codes.join(', ').slice(0, 200)}`)
}

async function send(url: string, form: Record<string, string>): Promise<z.infer<typeof verdict>> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      body: new URLSearchParams(form),
      redirect: 'error',
      signal: AbortSignal.timeout(VERIFY_TIMEOUT_MS),
    })
    if (response.status >= 500) throw new Error(`status ${response.status}`)
    return verdict.parse(await response.json())
  } catch (cause) {
    throw new CaptchaServiceFailed('it gave no answer that can be read', { cause })
  }
}

/**
 * An address as the services know it: IPv4 that a dual-stack socket wrapped into IPv6 is unwrapped.
 * @param address As the server says it.
 */
export function remoteAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '')
}
