import { createHash, randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createReferralFixture, type ReferralFixture } from '../domains/referral/referral-fixture.ts'
import { referral, referralPayout } from '../domains/referral/tables.ts'
import { createOperatorFixture, type Typed } from './type-commands-fixture.ts'

/** Goal: what is earned by referring is paid by hand from what an operator types, each amount once (R9.7, R6.5). */

let fixture: ReferralFixture
let operator: ReturnType<typeof createOperatorFixture>
let folder: string
let turn = 0
/** What the log of operators was told. */
const logged: string[] = []
const operators = {
  begin: async ({ command, target }: { command: string; target: string }) => {
    return async ({ outcome }: { outcome: string }) => void logged.push(`${command} ${target} ${outcome}`)
  },
}
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-payouts-'))
  fixture = await createReferralFixture()
  operator = createOperatorFixture({ ...fixture, installation: { referral: fixture.referral }, operators })
})
beforeEach(() => {
  logged.length = 0
})
afterAll(async () => {
  expect(await fixture.billing.checkBooks()).toEqual([])
  await fixture.database.drop()
  rmSync(folder, { recursive: true, force: true })
})

/** Somebody whose $16.00 wait to be paid. @returns Their payout's id and whose it is. */
async function waiting(): Promise<{ id: string; userId: string; email: string }> {
  turn += 1
  const year = 2030 + turn
  await fixture.passTo(`${year}-01-05T00:00:00Z`)
  const userId = await fixture.person()
  const friend = await fixture.friendOf(userId)
  await fixture.pay(friend, 30_000)
  await fixture.spend(friend, 305_000_000n)
  const email = `mira-${turn}@example.org`
  await fixture.referral.paypal.set(userId, email)
  await fixture.sendMails()
  const { text = '' } = fixture.mails.findLast(({ to }) => to === email) ?? {}
  await fixture.referral.paypal.confirm(userId, /paypal=([\w-]+)/.exec(text)?.[1] ?? '')
  await fixture.referral.choose(userId, `${year}-Q1`, 'cash')
  await fixture.passTo(`${year}-04-01T07:00:00Z`)
  await fixture.passTo(`${year}-04-05T00:00:00Z`)
  const [payout] = await fixture.db.select().from(referralPayout).where(eq(referralPayout.userId, userId))
  return { id: payout?.id ?? '', userId, email }
}

const fileOf = () => /The file is (f-\S+):/.exec(operator.noted.at(-1) ?? '')?.[1] ?? ''
const quarterOf = async (userId: string) =>
  (await fixture.referral.quarters(userId, { page: 1, page_size: 20 })).items.find(
    ({ state }) => state !== 'open',
  )

/** Says first what would be done, and that nothing was; then does it. */
async function changed(...line: string[]): Promise<Typed> {
  const before = await sumOfPayouts()
  const dry = await operator.type(...line, '--dry-run')
  expect(dry).toMatchObject({ exit: 0, err: '', out: expect.stringContaining('Would be done: ') })
  expect(await sumOfPayouts()).toBe(before)
  expect(logged).toEqual([])
  return await operator.type(...line)
}

async function sumOfPayouts(): Promise<string> {
  const rows: unknown[] = []
  for (const name of ['referral_payout', 'referral_settlement', 'ledger_transfer']) {
    rows.push((await fixture.database.pool.query(`select to_jsonb(t) from ${name} t order by 1`)).rows)
  }
  return createHash('sha256').update(JSON.stringify(rows)).digest('hex')
}

test('[R9.7] payouts that wait go into one file that only its owner reads, and are said to be paid', async () => {
  const { id, userId, email } = await waiting()
  expect((await operator.type('payouts list')).out).toMatch(
    new RegExp(`${id} +\\d{4}-Q1 +\\$16\\.00 +${email} +by-hand +queued`),
  )
  // Nobody has been asked to pay it.
  const early = await operator.type(`payouts mark-paid ${id} --reference 8XK`)
  expect(early).toMatchObject({ exit: 1, out: '', err: expect.stringContaining('payouts export') })

  const path = join(folder, 'payouts.csv')
  const made = await changed('payouts', 'export', '--to', path)
  expect(made).toMatchObject({ exit: 0, out: `1 payout in ${path}.\n` })
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(readFileSync(path, 'utf8')).toContain(`${id},${email},16.00,USD,`)
  expect(logged).toEqual([`payouts export ${path} done`])
  logged.length = 0

  const said = await changed('payouts', 'mark-paid', id, '--reference', '8XK41')
  expect(said).toMatchObject({ exit: 0, out: expect.stringMatching(/State +paid\nReference +8XK41\n/) })
  expect(logged).toEqual([`payouts mark-paid ${id} done`])
  expect(await quarterOf(userId)).toMatchObject({ state: 'paid', settled_payout_micro: '16000000' })
  // Again it changes nothing, and what was paid has not failed.
  const again = (await operator.json(`payouts mark-paid ${id} --reference other`)) as object
  expect(again).toMatchObject({ id, state: 'paid', reference: '8XK41', amount_micro: '16000000' })
  expect(await operator.type(`payouts mark-failed ${id}`)).toMatchObject({ exit: 1, out: '' })
  expect(await operator.json('payouts list')).toEqual([])
})

test('[R9.7] a file takes standard output alone, and is made once more by its name until all of it is finished', async () => {
  const { id, userId } = await waiting()
  const json = await operator.type('payouts export --json')
  expect(json).toMatchObject({ exit: 2, out: '', err: expect.stringContaining('--to') })
  const made = await operator.type('payouts export')
  expect(made.out).toMatch(/^Payout,PayPal account,Amount,Currency,Quarter,Note\r\n/)
  expect(made.out.split('\r\n')).toHaveLength(3)
  expect(await operator.type('payouts export')).toMatchObject({ exit: 1, out: '' })
  const name = fileOf()
  expect(await operator.json(`payouts export --again ${name} --dry-run`)).toMatchObject({
    ...{ dry_run: true, payouts: 1 },
    sums: [{ currency: 'USD', payouts: 1, amount_micro: '16000000' }],
  })
  expect((await operator.type(`payouts export --again ${name}`)).out).toBe(made.out)

  logged.length = 0
  const said = await changed('payouts', 'mark-failed', id, '--why', 'account_refused')
  expect(said).toMatchObject({ exit: 0, out: expect.stringMatching(/State +failed\n/) })
  expect(logged).toEqual([`payouts mark-failed ${id} done`])
  expect(await quarterOf(userId)).toMatchObject({ state: 'failed', failure: 'account_refused' })
  expect(await operator.type(`payouts mark-paid ${id} --reference 8XK`)).toMatchObject({ exit: 1, out: '' })
  expect(await operator.type(`payouts export --again ${name}`)).toMatchObject({ exit: 3, out: '' })
})

test('[R9.7] a file that cannot be written takes nothing', async () => {
  const { id } = await waiting()
  const there = join(folder, 'payouts.csv')
  expect(await operator.type('payouts', 'export', '--to', there)).toMatchObject({ exit: 1, out: '' })
  const nowhere = join(folder, 'no', 'payouts.csv')
  expect(await operator.type('payouts', 'export', '--to', nowhere)).toMatchObject({ exit: 1, out: '' })
  expect(await operator.type('payouts', 'export', '--to', '/proc/payouts.csv')).toMatchObject({ exit: 5 })
  expect(logged).toEqual(['payouts export /proc/payouts.csv failed'])
  expect(await operator.json('payouts list --state queued')).toMatchObject([{ id }])
  expect(await operator.type('payouts export')).toMatchObject({ exit: 0 })
})

test('[R9.7] what PayPal was asked to pay is in no file, and has failed only where that is confirmed', async () => {
  const { id } = await waiting()
  const batchId = `f-${randomUUID()}`
  await fixture.db
    .update(referralPayout)
    .set({ state: 'sent', driver: 'paypal', batchId, sentAt: fixture.clock.now() })
    .where(eq(referralPayout.id, id))
  expect(await operator.type(`payouts export --again ${batchId}`)).toMatchObject({ exit: 3, out: '' })
  const asked = await operator.type(`payouts mark-failed ${id}`)
  expect(asked).toMatchObject({ exit: 4, out: '', err: expect.stringContaining('paid twice') })
  expect(await operator.json('payouts list --state sent')).toContainEqual(expect.objectContaining({ id }))
  expect(await operator.type(`payouts mark-failed ${id} --confirm ${id}`)).toMatchObject({ exit: 0 })
})

test.each([
  'payouts mark-paid 01890000-0000-7000-8000-000000000000 --reference 8XK',
  'payouts mark-failed 01890000-0000-7000-8000-000000000000 --yes',
  'payouts mark-failed nothing',
  'payouts export --again f-01890000-0000-7000-8000-000000000000',
])('[R6.5] %s finds nothing', async typed => {
  expect(await operator.type(typed)).toMatchObject({ exit: 3, out: '' })
  expect(logged).toEqual([])
})

test('[R2.11] friends who are their own referrers are listed with what shows it', async () => {
  const referrer = await fixture.person()
  const friend = await fixture.friendOf(referrer)
  expect((await operator.type('payouts refused')).out).toBe('Nobody is refused.\n')
  await fixture.db
    .update(referral)
    .set({ samePersonBy: 'card', samePersonAs: referrer, samePersonAt: fixture.clock.now() })
    .where(eq(referral.friendId, friend))
  expect(await operator.json('payouts refused')).toMatchObject([
    { friend_id: friend, referrer_id: referrer, same_person_by: 'card', same_person_as: referrer },
  ])
  expect((await operator.type('payouts refused')).out).toMatch(
    new RegExp(`${friend} +${referrer} +${referrer} +card`),
  )
})
