import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { calls } from '@berth/contract/calls'
import { allRegions } from '@berth/contract/regions'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { parse, stringify } from 'yaml'
import { alarmEntries } from '../src/domains/alarms/alarm-list.ts'
import { disksLow } from '../src/domains/alarms/disk-room.ts'
import { alarm } from '../src/domains/alarms/tables.ts'
import { paymentEventAside } from '../src/domains/billing/payments/tables.ts'
import { createMailboxDriver } from '../src/drivers/mail/mailbox.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

const OPERATOR = 'ops@example.org'
const DAY_MS = 86_400_000
const deploy = resolve(import.meta.dirname, '../../../deploy')

let nowMs = Date.now()
const clock = { now: () => new Date(nowMs) }
let gateway: TestGateway

beforeAll(async () => {
  gateway = await startGateway({ operatorMail: OPERATOR, clock })
})
afterAll(() => gateway.stop())
beforeEach(async () => {
  await gateway.database.db.delete(alarm)
})

const mailsOf = async (words: string) =>
  (await createMailboxDriver({ db: gateway.database.db, clock }).list()).filter(
    ({ to, subject }) => to === OPERATOR && subject.includes(words),
  )
const figure = async (metric: string) =>
  (await gateway.gateway.managed.metrics.text()).match(new RegExp(`^${metric} (.*)$`, 'm'))?.[1]

describe('an operator', () => {
  test('is mailed once of what the check of the books found, again after a day, and when it is over', async () => {
    const { alarms } = gateway.gateway
    const found = { value: 1, about: ['wallet w-1 has 5, its entries say 4'] }
    await alarms.note('books_differ', found)
    await alarms.note('books_differ', found)
    await vi.waitFor(async () => expect(await mailsOf('books')).toHaveLength(1))
    expect((await mailsOf('books'))[0]?.text).toContain('wallet w-1 has 5, its entries say 4')
    expect(await figure('berth_books_differences')).toBe('1')
    nowMs += DAY_MS
    await alarms.note('books_differ', found)
    await vi.waitFor(async () => expect(await mailsOf('still: the books')).toHaveLength(1))
    await alarms.note('books_differ', { value: 0, about: [] })
    await vi.waitFor(async () => expect(await mailsOf('over: the books')).toHaveLength(1))
    expect(await mailsOf('books')).toHaveLength(3)
    expect(await figure('berth_books_differences')).toBe('0')
  })

  test('is mailed of an event of a platform that stays unbooked, with why', async () => {
    const { db } = gateway.database
    const event = {
      ...{ platformName: 'testcard', eventId: 'evt-1', reference: null, told: '{}', via: 'list' as const },
      ...{ occurredAt: clock.now(), reason: 'the wallet is locked', tries: 9 },
      ...{ tryAt: new Date(nowMs + DAY_MS), setAsideAt: clock.now() },
    }
    await db.insert(paymentEventAside).values(event)
    await gateway.gateway.alarms.lookNow()
    expect(await figure('berth_payment_events_aside')).toBe('0')
    nowMs += 20 * 60_000
    await gateway.gateway.alarms.lookNow()
    expect(await figure('berth_payment_events_aside')).toBe('1')
    await vi.waitFor(async () => expect(await mailsOf('cannot be booked')).toHaveLength(1))
    expect((await mailsOf('cannot be booked'))[0]?.text).toContain(
      'testcard evt-1, tried 9 times: the wallet is locked',
    )
    await db.delete(paymentEventAside).where(eq(paymentEventAside.eventId, 'evt-1'))
  })

  test('learns of mails that nobody takes, though no mail can say so, and not of a few that a stranger’s server puts off', async () => {
    const { pool, db } = gateway.database
    const { alarms } = gateway.gateway
    const queue = (count: number, state: string) =>
      pool.query(
        `insert into pgboss.job (name, data, created_on, start_after, retry_count, state, completed_on)
         select 'mail', '{"kind":"none","data":{}}', now() - interval '1 hour', now() + interval '1 hour', 3, $2::pgboss.job_state,
           case when $2 = 'completed' then now() end from generate_series(1, $1)`,
        [count, state],
      )
    const look = async () => {
      await alarms.lookNow()
      const [row] = await db.select().from(alarm).where(eq(alarm.code, 'mails_late'))
      return row
    }
    await queue(4, 'retry')
    nowMs += 20 * 60_000
    expect(await look()).toMatchObject({ value: 0, since: null })
    await queue(1, 'retry')
    expect(await look()).toMatchObject({ value: 5, place: '', toldAt: null })
    expect(await figure('berth_mails_late')).toBe('5')
    nowMs += 10 * 60_000
    expect((await look())?.toldAt).toEqual(clock.now())
    // Of many that were sent they are few.
    await queue(50, 'completed')
    expect(await look()).toMatchObject({ value: 0, toldAt: null, overAt: clock.now() })
    await pool.query(`delete from pgboss.job where data->>'kind' = 'none'`)
  })

  test('is not told again of what comes and goes within the hour', async () => {
    const { alarms } = gateway.gateway
    const found = { value: 1, about: ['a wallet that comes and goes'] }
    const before = (await mailsOf('the books')).length
    for (let round = 0; round < 5; round += 1) {
      await alarms.note('books_differ', found)
      nowMs += 5 * 60_000
      await alarms.note('books_differ', { value: 0, about: [] })
      nowMs += 5 * 60_000
    }
    await vi.waitFor(async () => expect(await mailsOf('the books')).toHaveLength(before + 2))
    nowMs += 3_600_000
    await alarms.note('books_differ', found)
    await vi.waitFor(async () => expect(await mailsOf('the books')).toHaveLength(before + 3))
  })

  test('is told of a computer’s own disk by its name, and of no folder that is not there', async () => {
    await gateway.gateway.alarms.lookNow()
    const [row] = await gateway.database.db.select().from(alarm).where(eq(alarm.code, 'disk_low'))
    expect(row?.place).not.toBe('')
    expect(await disksLow(['/no/such/folder'])).toEqual({ value: 0, about: [] })
  })
})

/** What the dashboard and the rules ask Prometheus, as they ask it. */
function questions(): string[] {
  const dashboard = JSON.parse(readFileSync(join(deploy, 'grafana/berth-dashboard.json'), 'utf8'))
  const rules = parse(readFileSync(join(deploy, 'prometheus/berth-alerts.yaml'), 'utf8'))
  return [
    ...dashboard.panels.flatMap(({ targets }: { targets: { expr: string }[] }) =>
      targets.map(({ expr }) => expr),
    ),
    ...rules.groups.flatMap(({ rules: all }: { rules: { expr: string }[] }) => all.map(({ expr }) => expr)),
  ]
}

describe('dashboard and alert rules', () => {
  test('ask for figures that gateways give, and there is a rule and a panel for each alarm', async () => {
    // Figures of calls are there from the first one on.
    await gateway.call(allRegions, {})
    const text = await gateway.gateway.managed.metrics.text()
    const asked = new Set(questions().flatMap(expr => expr.match(/\b(?:berth|process|nodejs)_\w+/g) ?? []))
    expect([...asked].filter(name => !new RegExp(`^${name}[ {]`, 'm').test(text))).toEqual([])
    for (const [, { metric }] of alarmEntries()) {
      expect(questions().filter(expr => expr.includes(metric))).toHaveLength(2)
    }
  })

  test('name operations that there are, and leave none of a page unwatched', () => {
    const operations = calls.map(({ operation }) => operation)
    const named = questions().flatMap(expr => [...expr.matchAll(/operation(?:!~|=~|!?=)"([^"]*)"/g)])
    expect(named.length).toBeGreaterThan(0)
    for (const [, matcher = ''] of named) {
      const nobody = matcher
        .split('|')
        .filter(one => one !== 'other' && !operations.some(name => new RegExp(`^(?:${one})$`).test(name)))
      expect(nobody).toEqual([])
      const isLeftOut = (name: string) => new RegExp(`^(?:${matcher})$`).test(name)
      expect(
        ['account.login', 'account.audit-log', 'instance.list', 'bill.balance'].filter(isLeftOut),
      ).toEqual([])
      const slow = ['instance.deploy', 'instance.follow', 'file.upload', 'model.chat', 'instance.search-logs']
      expect(slow.filter(name => !isLeftOut(name))).toEqual([])
    }
  })

  test('are what Prometheus understands', context => {
    try {
      execFileSync('promtool', ['--version'], { stdio: 'ignore' })
    } catch {
      return context.skip('promtool is not installed (Debian: prometheus)')
    }
    const dir = mkdtempSync(join(tmpdir(), 'berth-rules-'))
    const rules = questions().map((expr, index) => ({
      record: `berth:asked_${index}`,
      expr: expr.replaceAll('$__rate_interval', '5m'),
    }))
    writeFileSync(join(dir, 'asked.yaml'), stringify({ groups: [{ name: 'asked', rules }] }))
    try {
      for (const file of [join(dir, 'asked.yaml'), join(deploy, 'prometheus/berth-alerts.yaml')]) {
        expect(execFileSync('promtool', ['check', 'rules', file], { encoding: 'utf8' })).toContain('SUCCESS')
      }
      const config = join(deploy, 'prometheus/prometheus.yaml')
      expect(execFileSync('promtool', ['check', 'config', config], { encoding: 'utf8' })).toContain('SUCCESS')
    } finally {
      rmSync(dir, { recursive: true })
    }
  })
})
