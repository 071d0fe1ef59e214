import { createHmac, timingSafeEqual } from 'node:crypto'
import { type WebhookDelivery, WebhookRefused } from '../port.ts'

export const SIGNATURE_HEADER = 'testcard-signature'

/** A webhook older than this, or dated ahead by more, is refused, so that one that was overheard cannot be sent again for ever. */
const TOLERANCE_S = 300

/**
 * Signs a webhook's bytes together with the moment, as card platforms do.
 * @returns The header's value: `t=<seconds>,v1=<hex>`.
 */
export function signWebhook(secret: Uint8Array, body: Uint8Array, now: Date): string {
  const seconds = Math.floor(now.getTime() / 1_000)
  return `t=${seconds},v1=${digest(secret, seconds, body).toString('hex')}`
}

/** @throws WebhookRefused unless the bytes were signed with the secret, lately. */
export function checkWebhook(secret: Uint8Array, { body, headers }: WebhookDelivery, now: Date): void {
  const header = headers[SIGNATURE_HEADER]
  const match = typeof header === 'string' ? /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(header) : null
  if (!match) throw new WebhookRefused('there is no signature')
  const seconds = Number(match[1])
  const given = Buffer.from(match[2] ?? '', 'hex')
  if (!timingSafeEqual(given, digest(secret, seconds, body)))
    throw new WebhookRefused('the signature is wrong')
  if (Math.abs(now.getTime() / 1_000 - seconds) > TOLERANCE_S) {
    throw new WebhookRefused('the signature is too old, or of a moment to come')
  }
}

function digest(secret: Uint8Array, seconds: number, body: Uint8Array): Buffer {
  return createHmac('sha256', secret).update(`${seconds}.`).update(body).digest()
}
