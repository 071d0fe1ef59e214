import { ERRORS, type ErrorCode } from '@berth/contract/errors'
import { CURRENCIES } from '@berth/contract/limits'
import { eq } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Clock } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import type { Ids } from '../../../platform/ids.ts'
import { deriveKey } from '../../../platform/secrets.ts'
import {
  type MethodVisit,
  type PaymentDriver,
  PaymentRefused,
  PaymentUnavailable,
  type PlatformEvent,
  type PlatformIntent,
  savedVisit,
  WebhookUnreadable,
} from '../port.ts'
import { testcardMethod } from '../tables.ts'
import { createConfirmPage } from './confirm-page.ts'
import { type EventBody, eventBody } from './event-body.ts'
import { pageToken } from './page-token.ts'
import { cardOf, cardReference, faceOf, TEST_CARDS } from './test-cards.ts'
import {
  type CardIntent,
  CardMistake,
  cancelIntent,
  chargeIntent,
  makeIntent,
  pruneEvents,
  readEvents,
  readIntent,
  refundIntent,
} from './testcard-books.ts'
import { type CardMethod, cardOfMethod, endMethod, keepMethod, readMethod } from './testcard-methods.ts'
import { checkWebhook } from './testcard-signature.ts'
import { createWebhookSender } from './webhook-sender.ts'

const NAME = 'testcard'
/** Where its pages are. */
const PAGES = `/gateway/pay/${NAME}/`
/** What the test platform says of every card that it keeps. */
const EXPIRY_MONTH = 12
const EXPIRY_YEARS = 3

/** As a platform would take; people who try it should not wait long. */
const LATE_MS = 8_000
const REFUND_MS = 20_000

interface TestcardDeps {
  db: Database
  clock: Clock
  ids: Ids
  log: Pick<Logger, 'error'>
  /** Signs webhooks, and makes the key of the pages' addresses; the same for every replica. */
  webhook_secret: () => Uint8Array
  /** Whether customers may pay with test cards. */
  offered: boolean
  lateMs?: number
  refundMs?: number
}

/**
 * A payment platform for one machine: no money moves, only test cards work, and a real number is refused before
 * anything of it is stored. It keeps books of its own, apart from the ledger, and sends signed webhooks, as a real
 * platform does.
 * @param given The database that holds those books; each change of an intent is one transaction of its own.
 */
export function createTestcardDriver(given: TestcardDeps): PaymentDriver {
  const pageKey = () => deriveKey(given.webhook_secret(), 'test-card pages')
  const deps = { lateMs: LATE_MS, refundMs: REFUND_MS, pageKey, ...given }
  const pageOf = (status: string, id: string) =>
    status === 'requires_action' ? PAGES + pageToken(pageKey(), id) : null
  const sender = createWebhookSender(deps)

  /** Asks the books; whatever happens, somebody may be waiting for the webhook of it. */
  async function ask<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof CardMistake || error instanceof PaymentRefused) throw error
      throw new PaymentUnavailable('the test-card platform cannot answer', { cause: error })
    } finally {
      sender.wake()
    }
  }

  async function intent(work: () => Promise<CardIntent>): Promise<PlatformIntent> {
    const row = await ask(work)
    return {
      intent_id: row.intentId,
      status: row.status,
      failure: failureOf(row.failure),
      refunded_cents: row.refundedCents,
      refunds_failed_cents: row.refundsFailedCents,
      disputed_cents: row.disputedCents,
      disputes_won_cents: row.disputesWonCents,
      next_url: pageOf(row.status, row.intentId),
      // What names a test card is the same for whoever uses it.
      fingerprint: row.card,
    }
  }

  async function visit(work: () => Promise<CardMethod>): Promise<MethodVisit> {
    const { methodId, status, card, failure, createdAt } = await ask(work)
    const face = cardOf(card)
    if (status !== 'saved' || !face) {
      const said = status === 'requires_action' ? 'open' : status === 'refused' ? 'refused' : 'ended'
      const next_url = pageOf(status, methodId)
      return { visit_id: methodId, status: said, next_url, method: null, failure: failureOf(failure) }
    }
    return savedVisit(methodId, {
      method_id: methodId,
      ...faceOf(face),
      expiry_month: EXPIRY_MONTH,
      expiry_year: createdAt.getUTCFullYear() + EXPIRY_YEARS,
      fingerprint: card,
    })
  }

  const toEvent = ({ id, type, created, intent: told }: EventBody): PlatformEvent => ({
    event_id: id,
    occurred_at: new Date(created),
    reference: told.reference,
    intent_id: told.id,
    status: type === 'intent.moved' ? told.status : null,
    failure: failureOf(told.failure),
    refunded_cents: told.refunded_cents,
    refunds_failed_cents: told.refunds_failed_cents,
    disputed_cents: told.disputed_cents,
    disputes_won_cents: told.disputes_won_cents,
    next_url: pageOf(told.status, told.id),
  })

  return {
    name: NAME,
    display_name: 'Test card',
    test: true,
    currencies: CURRENCIES,
    entry: 'card',
    offered: given.offered,
    identify(source) {
      const number = source.replaceAll(/\s/g, '')
      const card = TEST_CARDS.find(card => card.number === number)
      if (!card) return { accepted: false, failure: 'test_card_required' }
      return { accepted: true, reference: cardReference(card), card: faceOf(card) }
    },
    createIntent: request =>
      intent(async () => {
        const source = (await cardOfMethod(deps, request.source)) ?? request.source
        return await makeIntent(deps, { ...request, source })
      }),
    confirm: request => intent(() => chargeIntent(deps, request)),
    retrieve: intent_id => intent(() => readIntent(deps, intent_id)),
    cancel: intent_id => intent(() => cancelIntent(deps, intent_id)),
    refund: request => intent(() => refundIntent(deps, request)),
    saveMethod: request => visit(() => keepMethod(deps, request)),
    readVisit: id => visit(() => readMethod(deps, id)),
    endVisit: id => visit(() => endMethod(deps, id)),
    forgetMethod: async method_id => {
      await ask(() => deps.db.delete(testcardMethod).where(eq(testcardMethod.methodId, method_id)))
    },
    readWebhook(delivery) {
      checkWebhook(deps.webhook_secret(), delivery, deps.clock.now())
      return [toEvent(readEvent(delivery.body))]
    },
    async *eventsSince(since) {
      for await (const page of readEvents(deps, since)) yield page.map(toEvent)
    },
    embedded: {
      page: createConfirmPage(deps, sender.wake),
      prune: () => pruneEvents(deps),
      start: sender.start,
    },
  }
}

function readEvent(bytes: Uint8Array): EventBody {
  try {
    return eventBody.parse(JSON.parse(Buffer.from(bytes).toString('utf8')))
  } catch (error) {
    throw new WebhookUnreadable('it is no event of the test platform', { cause: error })
  }
}

function failureOf(code: string | null): ErrorCode | null {
  if (code === null) return null
  return code in ERRORS ? (code as ErrorCode) : 'payment_failed'
}
