import { randomUUID } from 'node:crypto'
import { topup } from '@berth/contract/billing'
import { getNotifications, setNotifications } from '@berth/contract/notifications'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startGateway, type TestGateway } from '../../../test/start-gateway.ts'
import { createMailboxDriver } from '../../drivers/mail/mailbox.ts'
import { systemClock } from '../../platform/clock.ts'
import { DEFAULT_CHOICE } from './choices.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway.stop())

describe('what a customer wants', () => {
  test('[R1.7] is all mails at first, and then what was said', async () => {
    const { token } = await gateway.signUp()
    expect(await gateway.data(getNotifications, {}, { token })).toEqual({
      mails: {
        new_sign_in: true,
        key_added: true,
        top_up_receipt: true,
        instance_trouble: true,
        balance_low: true,
        offer_watch: true,
      },
      alert_hours: [24, 3],
    })
    const wanted = {
      mails: { ...DEFAULT_CHOICE.mails, top_up_receipt: false },
      alert_hours: [1, 72, 1] as (1 | 72)[],
    }
    const kept = { ...wanted, alert_hours: [72, 1] }
    expect(await gateway.data(setNotifications, { body: wanted }, { token })).toEqual(kept)
    expect(await gateway.data(getNotifications, {}, { token })).toEqual(kept)
    expect(await gateway.data(setNotifications, { body: DEFAULT_CHOICE as never }, { token })).toEqual(
      DEFAULT_CHOICE,
    )
  })

  test('[R6.4] is each customer’s own', async () => {
    const [first, second] = [await gateway.signUp(), await gateway.signUp()]
    await gateway.data(
      setNotifications,
      { body: { ...DEFAULT_CHOICE, alert_hours: [] } },
      { token: first.token },
    )
    expect(await gateway.data(getNotifications, {}, { token: second.token })).toEqual(DEFAULT_CHOICE)
  })

  test.each([
    ['an hour that is not offered', { ...DEFAULT_CHOICE, alert_hours: [5] }],
    ['a mail left out', { ...DEFAULT_CHOICE, mails: { new_sign_in: true } }],
  ])('with %s is refused', async (_, body) => {
    const { token } = await gateway.signUp()
    const { envelope } = await gateway.call(setNotifications, { body: body as never }, { token })
    expect(envelope).toMatchObject({ code: 'validation_failed' })
    expect(await gateway.data(getNotifications, {}, { token })).toEqual(DEFAULT_CHOICE)
  })
})

test('[R1.7] [B3] a top-up is followed by one receipt, however often it is sent', async () => {
  const { token, email } = await gateway.signUp()
  const body = {
    amount: 1_999,
    currency: 'USD',
    platform_name: 'testcard',
    source: '4242 4242 4242 4242',
  } as const
  const idempotencyKey = randomUUID()
  const { transaction_id } = await gateway.data(topup, { body }, { token, idempotencyKey })
  await gateway.data(topup, { body }, { token, idempotencyKey })
  const declined = { ...body, source: '4000 0000 0000 0002' }
  await gateway.call(topup, { body: declined }, { token })
  const mail = await vi.waitUntil(async () => (await mailsTo(email))[0])
  expect(mail.subject).toBe('Your Berth top-up of $19.99')
  expect(mail.text).toContain(transaction_id)
  expect(mail.text).toContain('4242')
  await idle()
  expect(await mailsTo(email)).toHaveLength(1)
})

test('[B4] customers who burn money are read from the meter', async () => {
  const { userId, email } = await gateway.signUp()
  await gateway.grant(userId, 500)
  const { billing } = gateway.gateway
  await gateway.database.db.transaction(tx =>
    billing.openMeters(tx, {
      userId,
      subject: { kind: 'instance', id: 'i-meter01' },
      name: 'llama',
      meters: [{ sku: 'compute.cpu', label: 'CPU', unit: 'hour', quantity: 1, rateMicro: 1_000_000n }],
      stopsWhenEmpty: true,
      at: new Date(),
    }),
  )
  const page = await billing.burning(null)
  expect(page.find(one => one.userId === userId)).toMatchObject({
    currency: 'USD',
    balanceMicro: 5_000_000n,
    burnMicroPerHour: 1_000_000n,
    lastsSeconds: 5 * 3_600,
  })
  expect(await billing.burning(page.at(-1)?.userId ?? '')).toEqual([])
  expect(email).toContain('@')
})

async function mailsTo(to: string) {
  const mailbox = createMailboxDriver({ db: gateway.database.db, clock: systemClock })
  return (await mailbox.list()).filter(mail => mail.to === to)
}

/** Waits until no mail waits to be sent. */
async function idle(): Promise<void> {
  await vi.waitUntil(async () => {
    const { rows } = await gateway.database.pool.query<{ n: number }>(
      `select count(*)::int as n from pgboss.job where state in ('created', 'active', 'retry')`,
    )
    return rows[0]?.n === 0
  })
}
