import { randomUUID } from 'node:crypto'
import type { Currency } from '@berth/contract/limits'
import { eq } from 'drizzle-orm'
import type { MailContent, MailOutbox } from '../../drivers/mail/port.ts'
import type { PaymentDriver, PlatformEvent } from '../../drivers/payments/port.ts'
import { createByHandPayouts } from '../../drivers/payouts/by-hand.ts'
import { createRateCounts } from '../../platform/http/rate-counts.ts'
import { type BillingFixture, createBillingFixture, topupRequest } from '../billing/billing-fixture.ts'
import * as billingEvents from '../billing/events.ts'
import { noteCard } from '../billing/payments/cards-seen.ts'
import { cardSeen } from '../billing/payments/tables.ts'
import { accountDeleted, accountReferred } from '../identity/events.ts'
import { referralNews } from './events.ts'
import { createReferral, type Referral } from './referral.ts'
import type { ReferralDeps } from './referral-deps.ts'
import type { Terms } from './terms.ts'

const UNIT = 1_000_000n

/** The seed's figures. */
export const TERMS: Terms = {
  rewardMicro: 5n * UNIT,
  friendRewardMicro: 5n * UNIT,
  firstTopupMicro: 10n * UNIT,
  rebateHundredths: 500,
  thresholdMicro: 20n * UNIT,
  cashFeeHundredths: 2_000,
  choiceDays: 30,
  paypalFrozenHours: 72,
}

/** Cards that work, each of somebody else. */
const CARDS = ['4242 4242 4242 4242', '5555 5555 5555 4444', '4000 0566 5566 5556', '3782 822463 10005']

/** The referral domain on a billing domain and a database of its own, for tests. */
export interface ReferralFixture extends BillingFixture {
  referral: Referral
  /** Mails of the domain's own, as they were sent. */
  mails: MailContent[]
  /** Sends what waits, as the queue does after a commit. */
  sendMails(): Promise<void>
  /** Says where a customer is paid to, and follows the link that is mailed there. */
  payTo(userId: string, email: string): Promise<void>
  /** Another referral domain on the same database, as another process would be. */
  referralWith(parts: Partial<ReferralDeps>): Referral
  /** A customer with an address. */
  person(of?: { currency?: Currency; isVerified?: boolean; email?: string }): Promise<string>
  /** A friend who signed up by somebody's link. */
  friendOf(referrer: string, of?: { currency?: Currency; isVerified?: boolean }): Promise<string>
  /** Says of an address that it is verified, or that the account is gone. */
  contacts: Map<string, { email: string; isVerified: boolean } | null>
  /** The mark of the browser that an account is signed in from. */
  devices: Map<string, string>
  /** Pays in, and has everybody hear of it. @param card Which of the cards that work; left out: one that nobody else has. */
  pay(userId: string, cents: number, card?: number): Promise<string>
  /** Pays in, and nobody hears of it yet. */
  payUnheard(userId: string, cents: number, card?: number): Promise<string>
  giveBack(transactionId: string, cents: number): Promise<void>
  /** A bank takes so much of a payment. */
  dispute(transactionId: string, cents: number): Promise<void>
  /** Money that was to go back did not arrive, as the platform says. */
  failRefund(transactionId: string, cents: number): Promise<void>
  /** The account of a customer is deleted. */
  forget(userId: string): Promise<void>
  /** Somebody signed up by a code. */
  captureBy(userId: string, code: string): Promise<void>
  /** Has whoever listens hear what billing told since the last time. */
  hear(): Promise<void>
  /** Uses up so much by a machine that runs for an hour. */
  spend(userId: string, micro: bigint): Promise<void>
  /** Moves the clock to a moment, and lets a round pass there. */
  passTo(moment: string): Promise<void>
  /** News of a customer, oldest first. */
  newsOf(userId: string): { news: string; quarter: string | null; amountMicro: string }[]
}

/** Makes it. @param terms Other than the seed's. */
export async function createReferralFixture(terms: Terms = TERMS): Promise<ReferralFixture> {
  const base = await createBillingFixture()
  const { db, clock, ids, log, events, billing } = base
  const contacts: ReferralFixture['contacts'] = new Map()
  const devices: ReferralFixture['devices'] = new Map()
  const mails: MailContent[] = []
  const waiting: (() => Promise<MailContent | null>)[] = []
  const mail: MailOutbox = {
    define: (_, compose) => async (_q, data) => {
      waiting.push(() => compose(data))
    },
  }
  const deps: ReferralDeps = {
    ...{ db, clock, ids, log, events, billing, terms, mail },
    contactOf: async (_, userId) => contacts.get(userId) ?? null,
    displayNameOf: async () => 'Mira Kern',
    devicesOf: async (_, userId) => [devices.get(userId) ?? []].flat(),
    async recipient(userId) {
      const contact = contacts.get(userId)
      return contact?.isVerified ? { email: contact.email, language: 'en' } : null
    },
    counts: createRateCounts({ db, clock }),
    payouts: createByHandPayouts(),
    publicUrl: () => 'https://berth.example',
    brandName: () => 'Berth',
    owner: randomUUID(),
  }
  const referral = createReferral(deps)
  let heard = 0
  let people = 0

  async function person({
    currency = 'USD',
    isVerified = true,
    email,
  }: Parameters<ReferralFixture['person']>[0] = {}) {
    const userId = await base.customer({ currency })
    people += 1
    contacts.set(userId, { email: email ?? `person-${people}@fastmail.com`, isVerified })
    return userId
  }

  async function payUnheard(userId: string, amountCents: number, card?: number): Promise<string> {
    const { currency } = await billing.totals(db, userId)
    const source = CARDS[card ?? 0] ?? ''
    const { transaction_id } = await billing.topUp(topupRequest(userId, { amountCents, currency, source }))
    // The test platform has a handful of cards, and there are more customers.
    if (card === undefined)
      await db.transaction(async tx => {
        await tx.delete(cardSeen).where(eq(cardSeen.userId, userId))
        await noteCard(tx, { clock }, { userId, platformName: 'testcard', fingerprint: userId })
      })
    return transaction_id
  }

  async function hear(): Promise<void> {
    const told = events.told.slice(heard)
    heard = events.told.length
    const known = Object.values(billingEvents)
    for (const { event, payload } of told) {
      const meant = known.find(({ name }) => name === event)
      if (meant) await events.hear<never>(meant as never, payload as never)
    }
  }

  /** Has the platform tell what became of a payment, and everybody hear of it. */
  async function platformTells(paymentId: string, sums: Partial<PlatformEvent>): Promise<void> {
    const event: PlatformEvent = {
      ...{ event_id: randomUUID(), occurred_at: clock.now(), reference: paymentId.slice(2), intent_id: null },
      ...{ status: null, failure: null, next_url: null },
      ...{ refunded_cents: 0, refunds_failed_cents: 0, disputed_cents: 0, ...sums },
    }
    const driver: PaymentDriver = {
      ...base.driver,
      async *eventsSince() {
        yield [event]
      },
    }
    await base.replica({ payments: [driver] }).recoverTopups()
    await hear()
  }

  async function sendMails() {
    for (const compose of waiting.splice(0)) {
      const made = await compose()
      if (made) mails.push(made)
    }
  }

  return {
    ...base,
    ...{ sendMails, referral, mails, contacts, devices, person, payUnheard, hear },
    referralWith: parts => createReferral({ ...deps, events: { ...events, on: () => undefined }, ...parts }),
    async friendOf(referrer, of = {}) {
      const { code } = await referral.summary(referrer)
      const friend = await person(of)
      await events.hear(accountReferred, { userId: friend, code, at: clock.now().toISOString() })
      return friend
    },
    async pay(userId, cents, card) {
      const transactionId = await payUnheard(userId, cents, card)
      await hear()
      return transactionId
    },
    async giveBack(paymentId, amountCents) {
      await billing.refunds.create({ id: randomUUID(), paymentId, amountCents })
      await hear()
    },
    async payTo(userId, email) {
      await referral.paypal.set(userId, email)
      await sendMails()
      const token = /paypal=([\w-]+)/.exec(mails.at(-1)?.text ?? '')?.[1] ?? ''
      await referral.paypal.confirm(userId, token)
    },
    dispute: (paymentId, disputed_cents) => platformTells(paymentId, { disputed_cents }),
    failRefund: (paymentId, cents) =>
      platformTells(paymentId, { refunded_cents: cents, refunds_failed_cents: cents }),
    forget: userId => events.hear(accountDeleted, { userId }),
    captureBy: (userId, code) =>
      events.hear(accountReferred, { userId, code, at: clock.now().toISOString() }),
    async spend(userId, rateMicroPerHour) {
      const instanceId = `i-${randomUUID()}`
      await base.open({ userId, instanceId, rateMicroPerHour })
      clock.advance(3_600)
      await base.close({ userId, instanceId })
    },
    async passTo(moment) {
      clock.advance((Date.parse(moment) - clock.now().getTime()) / 1_000)
      await referral.settle()
    },
    newsOf: userId =>
      events.told
        .filter(({ event }) => event === referralNews.name)
        .map(({ payload }) => referralNews.payload.parse(payload))
        .filter(payload => payload.userId === userId)
        .map(({ news, quarter, amountMicro }) => ({ news, quarter, amountMicro })),
  }
}
