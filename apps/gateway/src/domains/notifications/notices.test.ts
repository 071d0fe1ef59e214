import { randomUUID } from 'node:crypto'
import { NOTICE_KINDS, type NoticeKind } from '@berth/contract/notifications'
import { eq } from 'drizzle-orm'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openCustomers } from '../../../test/open-customers.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { pretendChange } from '../../../test/test-events.ts'
import { createMailQueue } from '../../drivers/mail/mail-queue.ts'
import { createMailboxDriver } from '../../drivers/mail/mailbox.ts'
import { systemClock } from '../../platform/clock.ts'
import type { DomainEvent } from '../../platform/events/define-event.ts'
import { createEvents, type Events } from '../../platform/events/events.ts'
import { createJobs, type Jobs } from '../../platform/jobs/jobs.ts'
import { autoTopupNews, creditsEnding, paymentRefunded, refundFailed, topUpPaid } from '../billing/events.ts'
import { accountDeleted, signedInAnew } from '../identity/events.ts'
import { deletionNews, instancesInTrouble, resumeNews, termNews } from '../instances/events.ts'
import { apiKeyCreated } from '../models/events.ts'
import { sshKeyAdded } from '../ssh-keys/events.ts'
import { offerWatchNews } from '../watches/events.ts'
import { DEFAULT_CHOICE } from './choices.ts'
import { type Burning, createNotifications, type Notifications } from './notifications.ts'
import { balanceAlert } from './tables.ts'

/** The domain with a real queue, on a database of its own. */
let database: TestDatabase
let jobs: Jobs
let events: Events
let notifications: Notifications
/** What the meter says. */
let burning: Burning[]
/** What stopped for an empty balance. */
let stopped: { name: string; resumes: boolean }[]
/** Whose mails cannot be queued. */
let broken: string | null
const wanted = randomUUID()
const other = randomUUID()

beforeEach(async () => {
  database = await createTestDatabase()
  burning = []
  stopped = []
  broken = null
  const { db } = database
  const log = pino({ level: 'silent' })
  const driver = createMailboxDriver({ db, clock: systemClock })
  jobs = createJobs({ database, log })
  events = createEvents({ db, jobs, log })
  const queue = createMailQueue({ jobs, driver, log, retryFirstSeconds: 1 })
  notifications = createNotifications({
    db,
    clock: systemClock,
    log,
    mail: {
      define(kind, compose) {
        const send = queue.define(kind, compose)
        return async (q, data) => {
          if ('userId' in data && data.userId === broken) throw new Error('cannot be queued')
          await send(q, data)
        }
      },
    },
    events,
    recipient: async userId => ({
      email: userId === wanted ? 'wanted@example.com' : 'other@example.com',
      language: 'en',
    }),
    burning: async after => (after === null ? burning : []),
    stoppedUnpaid: async (_, userId) => (userId === wanted ? stopped : []),
    say: text => text,
    publicUrl: () => 'http://127.0.0.1:8080/',
    brandName: () => 'Berth',
  })
  await openCustomers(db, wanted, other)
  await jobs.start()
})
afterEach(async () => {
  await jobs.stop()
  await database.drop()
})

/** Tells of an event as its own domain would, with nothing else in the transaction. */
const tell: Emit = (event, payload) =>
  database.db.transaction(async tx => {
    await pretendChange(tx)
    await events.emit(tx, event, payload)
  })
type Emit = <Payload>(event: DomainEvent<Payload>, payload: Payload) => Promise<void>

const at = new Date().toISOString()
const SEND: Record<NoticeKind, (userId: string) => Promise<unknown>> = {
  new_sign_in: userId => tell(signedInAnew, { userId, at, address: '::1', browser: '', system: '' }),
  key_added: userId => tell(sshKeyAdded, { userId, at, name: 'laptop' }),
  top_up_receipt: userId =>
    tell(topUpPaid, {
      userId,
      at,
      transactionId: 't_1',
      amountCents: 100,
      currency: 'EUR',
      card: { brand: 'Visa', last4: '4242' },
    }),
  instance_trouble: userId =>
    tell(instancesInTrouble, {
      userId,
      at,
      cause: 'error',
      instances: [{ id: 'i-1', name: 'llama' }],
    }),
  offer_watch: userId =>
    tell(offerWatchNews, {
      userId,
      at,
      news: 'back',
      gpuSpecName: 'B200',
      gpuCount: 1,
      regionName: 'us-west',
      instanceName: null,
    }),
  balance_low: userId => {
    burning = [burner(userId, 2)]
    return notifications.checkBalances()
  },
}

test.each(NOTICE_KINDS)('[R1.7] %s obeys its own switch and no other', async kind => {
  const on = Object.fromEntries(NOTICE_KINDS.map(one => [one, one === kind]))
  const off = Object.fromEntries(NOTICE_KINDS.map(one => [one, one !== kind]))
  await notifications.set(wanted, { ...DEFAULT_CHOICE, mails: on as typeof DEFAULT_CHOICE.mails })
  await notifications.set(other, { ...DEFAULT_CHOICE, mails: off as typeof DEFAULT_CHOICE.mails })
  expect(await notifications.wants(wanted, kind)).toBe(true)
  expect(await notifications.wants(other, kind)).toBe(false)
  await SEND[kind](other)
  await SEND[kind](wanted)
  await idle()
  const [mail, ...more] = await mails()
  expect(more).toEqual([])
  expect(mail).toMatchObject({ to: 'wanted@example.com' })
  expect(mail?.text).toContain('http://127.0.0.1:8080/settings?section=notifications')
})

test('[R1.7] a refund, and one that did not arrive, are told under the switch of payments', async () => {
  await notifications.set(other, {
    ...DEFAULT_CHOICE,
    mails: { ...DEFAULT_CHOICE.mails, top_up_receipt: false },
  })
  for (const userId of [other, wanted]) {
    const card = { brand: 'Visa', last4: '7726' }
    const refund = { userId, at, transactionId: 'r_1', amountCents: 2_500, currency: 'USD', card } as const
    await tell(paymentRefunded, refund)
    await tell(refundFailed, refund)
  }
  await idle()
  const sent = (await mails()).toSorted((a, b) => a.subject.length - b.subject.length)
  expect(sent).toMatchObject([
    { to: 'wanted@example.com', subject: 'Your Berth refund of $25.00' },
    { to: 'wanted@example.com', subject: 'Your Berth refund of $25.00 failed' },
  ])
  for (const { text } of sent) expect(text).toContain('Visa ending 7726')
})

test('[R3.9] [B4] auto top-up that is refused, ends or is capped is told under the switch of the balance', async () => {
  await notifications.set(other, {
    ...DEFAULT_CHOICE,
    mails: { ...DEFAULT_CHOICE.mails, balance_low: false },
  })
  const nextTryAt = '2026-03-01T13:00:00.000Z'
  const refused = { failure: 'card_insufficient_funds', card: { brand: 'Visa', last4: '9995' } }
  const empty = { failure: 'payment_method_required', card: { brand: '', last4: '' } }
  for (const userId of [other, wanted]) {
    const base = { userId, at, amountCents: 5_000, capCents: 20_000, currency: 'USD' } as const
    await tell(autoTopupNews, { ...base, ...refused, news: 'declined', nextTryAt })
    await tell(autoTopupNews, { ...base, ...empty, news: 'turned_off', nextTryAt: null })
    const firstOfMonth = '2026-04-01T00:00:00.000Z'
    await tell(autoTopupNews, { ...base, ...refused, news: 'capped', failure: null, nextTryAt: firstOfMonth })
  }
  await idle()
  const sent = (await mails()).toSorted((a, b) => a.subject.localeCompare(b.subject))
  expect(sent.map(({ to, subject }) => [to, subject])).toEqual([
    ['wanted@example.com', 'Berth: auto top-up has reached its monthly cap'],
    ['wanted@example.com', 'Berth: auto top-up of $50.00 failed'],
    ['wanted@example.com', 'Berth: auto top-up was turned off'],
  ])
  const [capped, declined, off] = sent.map(({ text }) => text)
  expect(capped).toMatch(/Monthly cap: \$200\.00[\s\S]* on 2026-04-01 00:00 UTC/)
  expect(capped).not.toContain('9995')
  expect(declined).toMatch(
    /Amount: \$50\.00\nCard: Visa ending 9995\nReason: .*not enough money[\s\S]* again on 2026-03-01 13:00 UTC/,
  )
  expect(off).toMatch(/Reason: No payment method is saved\.[\s\S]* not tried again before you turn it on/)
  expect(off).not.toContain('Card:')
})

test('[R3.8] [B4] credits that end are told under the switch of the balance, with each amount and its end', async () => {
  const mailsOff = { ...DEFAULT_CHOICE.mails, balance_low: false }
  await notifications.set(other, { ...DEFAULT_CHOICE, mails: mailsOff })
  const credits = [
    { endsAt: '2026-03-17T12:00:00.000Z', leftMicro: '4999999', modelsOnly: false },
    { endsAt: '2026-03-17T15:00:00.000Z', leftMicro: '2500000', modelsOnly: true },
  ]
  for (const userId of [other, wanted]) await tell(creditsEnding, { userId, at, currency: 'USD', credits })
  await idle()
  const [mail, ...more] = await mails()
  expect(more).toEqual([])
  expect(mail).toMatchObject({
    to: 'wanted@example.com',
    subject: 'Berth: $7.49 of your credits end by 2026-03-17 15:00 UTC',
  })
  expect(mail?.text).toContain(
    '$4.99 until 2026-03-17 12:00 UTC\n$2.50 until 2026-03-17 15:00 UTC, for calls of models only\n',
  )
})

test('[R3.9] a card that has expired is told as that, and not as declined by its bank', async () => {
  const card = { brand: 'Visa', last4: '4242' }
  const amounts = { amountCents: 5_000, capCents: 20_000, currency: 'USD' } as const
  const nextTryAt = '2026-03-01T13:00:00.000Z'
  await tell(autoTopupNews, {
    ...{ userId: wanted, at, ...amounts, card, nextTryAt },
    news: 'declined',
    failure: 'card_expired',
  })
  await idle()
  const [mail] = await mails()
  expect(mail?.text).toContain('Reason: This card has expired.')
  expect(mail?.text).not.toContain('declined')
})

test('[B4] a top-up says what it lets start again, and a start that fails is told', async () => {
  stopped = [
    { name: 'llama', resumes: true },
    { name: 'notebook', resumes: false },
  ]
  await SEND.top_up_receipt(wanted)
  const instance = { id: 'i-1', name: 'llama' }
  const failure = { code: 'gpu_sold_out', values: {} }
  const base = { userId: wanted, at, instance } as const
  await tell(resumeNews, { ...base, news: 'started', failure: null, nextTryAt: null })
  await tell(resumeNews, { ...base, news: 'failed', failure, nextTryAt: '2026-03-01T13:00:00.000Z' })
  await tell(resumeNews, { ...base, news: 'given_up', failure, nextTryAt: null })
  await idle()
  const sent = (await mails()).toSorted((a, b) => a.subject.localeCompare(b.subject))
  expect(sent.map(({ subject }) => subject)).toEqual([
    'Berth: llama could not be started again yet',
    'Berth: llama was not started again',
    'Your Berth top-up of €1.00',
  ])
  const [failed, , receipt] = sent.map(({ text }) => text)
  expect(failed).toMatch(/GPU is sold out[\s\S]* tried again on 2026-03-01 13:00 UTC/)
  expect(receipt).toMatch(/start again by themselves .*: llama\n[\s\S]* can be started again: notebook\n/)
})

test('[R4.3] the end of a term is told under the switch of instances, with its day and its price', async () => {
  const mailsOff = { ...DEFAULT_CHOICE.mails, instance_trouble: false }
  await notifications.set(other, { ...DEFAULT_CHOICE, mails: mailsOff })
  for (const userId of [other, wanted]) {
    await tell(termNews, {
      userId,
      at,
      outcome: 'will_renew',
      instance: { id: 'i-1', name: 'llama' },
      expiryTime: '2026-03-04T12:00:00.000Z',
      priceMicro: '12090000',
      currency: 'USD',
    })
  }
  await idle()
  const sent = await mails()
  expect(sent).toMatchObject([{ to: 'wanted@example.com', subject: 'Berth: llama will be renewed' }])
  expect(sent[0]?.text).toMatch(/ends on 2026-03-04 12:00 UTC.* \$12\.09 is taken/)
})

test('[R9.6] [R1.9] that data is about to be deleted, or was, is told whatever is switched off', async () => {
  const mails_off = Object.fromEntries(NOTICE_KINDS.map(kind => [kind, false]))
  await notifications.set(other, { ...DEFAULT_CHOICE, mails: mails_off as typeof DEFAULT_CHOICE.mails })
  for (const outcome of ['will_delete', 'deleted'] as const) {
    await tell(deletionNews, {
      userId: other,
      at,
      outcome,
      instance: { id: 'i-1', name: 'llama' },
      stoppedAt: '2026-03-01T12:00:00.000Z',
      keptUntil: '2026-03-31T12:00:00.000Z',
    })
  }
  await idle()
  const sent = (await mails()).toSorted((a, b) => b.subject.length - a.subject.length)
  expect(sent).toMatchObject([
    { to: 'other@example.com', subject: 'Berth: llama will be deleted (2026-03-31 12:00 UTC)' },
    { to: 'other@example.com', subject: 'Berth: llama was deleted (2026-03-31 12:00 UTC)' },
  ])
  expect(sent[0]?.text).toMatch(/stopped since 2026-03-01 12:00 UTC.* kept for 30 days/)
  expect(sent[0]?.text).not.toContain('section=notifications')
})

test('a notice whose transaction is undone is not sent', async () => {
  await database.db
    .transaction(async tx => {
      await pretendChange(tx)
      await events.emit(tx, apiKeyCreated, { userId: wanted, at, name: 'bot' })
      throw new Error('undone')
    })
    .catch(() => {})
  await SEND.key_added(wanted)
  await idle()
  expect(await mails()).toHaveLength(1)
})

test('[R1.7] what a customer wanted is forgotten with the account', async () => {
  await notifications.set(wanted, { ...DEFAULT_CHOICE, alert_hours: [1] })
  await tell(accountDeleted, { userId: wanted })
  await idle()
  expect(await notifications.get(wanted)).toEqual(DEFAULT_CHOICE)
})

describe('[B4] alerts before a balance is used up', () => {
  test('go out once for each hour on the way down, and again after the balance lasted longer', async () => {
    const rounds = [
      [30, 0],
      [24, 1],
      [23.9, 0],
      [3, 1],
      [2, 0],
      [26, 0],
      [24, 1],
      [1, 1],
    ] as const
    for (const [hours, queued] of rounds) {
      burning = [burner(wanted, hours)]
      expect(await notifications.checkBalances()).toBe(queued)
    }
    await idle()
    expect((await mails()).map(({ subject }) => subject).sort()).toEqual([
      'Berth: your balance lasts 1 h 0 min',
      'Berth: your balance lasts 24 h 0 min',
      'Berth: your balance lasts 24 h 0 min',
      'Berth: your balance lasts 3 h 0 min',
    ])
  })

  test('after an outage go out for the smallest hour alone, with what there is and what it costs', async () => {
    burning = [burner(wanted, 2.5)]
    expect(await notifications.checkBalances()).toBe(1)
    expect(await notifications.checkBalances()).toBe(0)
    await idle()
    const [mail] = await mails()
    expect(mail?.subject).toBe('Berth: your balance lasts 2 h 30 min')
    expect(mail?.text).toContain('€2.50')
    expect(mail?.text).toContain('€1.0000')
    const rows = await database.db.select().from(balanceAlert).where(eq(balanceAlert.userId, wanted))
    expect(rows.map(row => row.hours).sort()).toEqual([24, 3])
  })

  test('keep to the chosen hours, and switched on in time still go out', async () => {
    burning = [burner(wanted, 2)]
    await notifications.set(wanted, { ...DEFAULT_CHOICE, alert_hours: [1] })
    expect(await notifications.checkBalances()).toBe(0)
    await notifications.set(wanted, {
      mails: { ...DEFAULT_CHOICE.mails, balance_low: false },
      alert_hours: [6],
    })
    expect(await notifications.checkBalances()).toBe(0)
    await notifications.set(wanted, { ...DEFAULT_CHOICE, alert_hours: [6] })
    expect(await notifications.checkBalances()).toBe(1)
  })

  test('of ten rounds at once go out once', async () => {
    burning = [burner(wanted, 2)]
    const counts = await Promise.all(Array.from({ length: 10 }, () => notifications.checkBalances()))
    expect(counts.reduce((sum, one) => sum + one, 0)).toBe(1)
  })

  test('that cannot be queued do not keep others from theirs, and are tried again', async () => {
    burning = [burner(other, 2), burner(wanted, 2)]
    broken = other
    expect(await notifications.checkBalances()).toBe(1)
    broken = null
    expect(await notifications.checkBalances()).toBe(1)
    expect(await notifications.checkBalances()).toBe(0)
  })
})

/** One who spends €1 an hour. */
function burner(userId: string, hours: number): Burning {
  const balanceMicro = BigInt(Math.round(hours * 1_000_000))
  const lastsSeconds = Math.floor(hours * 3_600)
  return { userId, currency: 'EUR', balanceMicro, burnMicroPerHour: 1_000_000n, lastsSeconds }
}

function mails() {
  return createMailboxDriver({ db: database.db, clock: systemClock }).list()
}

/** Waits until no mail waits to be sent. */
async function idle(): Promise<void> {
  await vi.waitUntil(async () => {
    const { rows } = await database.pool.query<{ n: number }>(
      `select count(*)::int as n from pgboss.job where state in ('created', 'active', 'retry')`,
    )
    return rows[0]?.n === 0
  })
}
