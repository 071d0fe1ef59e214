import {
  type PaymentDriver,
  PaymentUnavailable,
  WebhookRefused,
  WebhookUnreadable,
} from '../../../drivers/payments/port.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { RawAnswer, RawRoute } from '../../../platform/http/raw-routes.ts'
import type { Billing } from '../billing.ts'

/** Platforms send single events of a few kilobytes; this is what the greatest of them bound theirs by. */
const WEBHOOK_BYTES_MAX = 262_144
/** A page's form holds one answer. */
const FORM_BYTES_MAX = 1_000

const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  // The address lets whoever has it confirm the payment.
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  vary: 'accept-language',
}

/**
 * What platforms and their customers ask, outside the contract: webhooks, as platforms sign them, and the pages of
 * platforms that live in the gateway.
 */
export function paymentRawRoutes(
  billing: Pick<Billing, 'receiveWebhook'>,
  payments: readonly PaymentDriver[],
): RawRoute[] {
  return [
    {
      methods: ['POST'],
      path: '/api/bill/webhook/:platform',
      bodyBytesMax: WEBHOOK_BYTES_MAX,
      async handle({ params: { platform = '' }, body, headers }) {
        if (!payments.some(({ name }) => name === platform)) throw new ApiError('not_found')
        try {
          await billing.receiveWebhook(platform, { body, headers })
        } catch (error) {
          if (error instanceof WebhookRefused) throw new ApiError('webhook_refused')
          // The platform may send it again; the operator reads of it in the log, and the event is in the feed.
          if (error instanceof WebhookUnreadable) throw new ApiError('webhook_unreadable', { cause: error })
          // The platform was asked how far something moved, and did not say: it sends the event again.
          if (error instanceof PaymentUnavailable) throw new ApiError('payment_pending', { cause: error })
          throw error
        }
        return taken()
      },
    },
    {
      methods: ['GET', 'POST'],
      path: '/pay/:platform/:token',
      bodyBytesMax: FORM_BYTES_MAX,
      async handle({ method, params: { platform, token = '' }, body, language }) {
        const embedded = payments.find(({ name }) => name === platform)?.embedded
        if (!embedded) throw new ApiError('not_found')
        const form = new URLSearchParams(body.toString('utf8'))
        const { status, html } = await embedded.page({
          method: method === 'POST' ? 'POST' : 'GET',
          ...{ token, form, language },
        })
        return { status, headers: { ...PAGE_HEADERS, 'content-language': language }, body: html }
      },
    },
  ]
}

function taken(): RawAnswer {
  const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' }
  return { status: 200, headers, body: '{"received":true}' }
}
