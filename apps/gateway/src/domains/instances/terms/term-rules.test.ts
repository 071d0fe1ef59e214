import { describe, expect, test } from 'vitest'
import { nextTermStep, renewalStart, type TermRow, termEnd, termStepOf } from './term-rules.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const END = new Date('2026-03-31T12:00:00.000Z')
const before = (ms: number) => new Date(END.getTime() - ms)
const paid = (changes: Partial<TermRow> = {}): TermRow => ({
  ...{ billingType: 'prepay', expiryTime: END, desired: 'running', terminatedAt: null },
  ...{ status: 'running', termNoticeDay: null, ...changes },
})

describe('[R1.4] a term', () => {
  test.each([
    ['weekly', 'over a leap day', '2028-02-26T10:00:00.000Z', '2028-03-04T10:00:00.000Z'],
    ['weekly', 'where there is none', '2027-02-26T10:00:00.000Z', '2027-03-05T10:00:00.000Z'],
    ['weekly', 'while Europe turns its clocks', '2026-03-28T00:30:00.000Z', '2026-04-04T00:30:00.000Z'],
    ['monthly', 'from a 31st', '2026-01-31T23:59:59.999Z', '2026-03-02T23:59:59.999Z'],
    ['monthly', 'from a 31st before a leap day', '2028-01-31T00:00:00.000Z', '2028-03-01T00:00:00.000Z'],
    ['monthly', 'over the end of a year', '2026-12-15T08:00:00.000Z', '2027-01-14T08:00:00.000Z'],
  ] as const)('%s is as many days %s', (cycle, _, from, until) => {
    expect(termEnd(cycle, new Date(from)).toISOString()).toBe(until)
  })
})

describe('[R4.3] what is to be done about a term', () => {
  test.each([
    ['more than three days before its end', 3 * DAY_MS + 1, {}, null],
    ['three days before', 3 * DAY_MS, {}, { kind: 'announce_term_end', day: 3 }],
    ['three days before, told', 3 * DAY_MS, { termNoticeDay: 3 }, null],
    ['more than a day before, told', DAY_MS + 1, { termNoticeDay: 3 }, null],
    ['a day before', DAY_MS, { termNoticeDay: 3 }, { kind: 'announce_term_end', day: 1 }],
    ['a day before, told', DAY_MS, { termNoticeDay: 1 }, null],
    ['hours before, where nobody looked for days', HOUR_MS, {}, { kind: 'announce_term_end', day: 1 }],
    ['a millisecond before', 1, { termNoticeDay: 1 }, null],
    ['at its end', 0, { termNoticeDay: 1 }, { kind: 'end_term' }],
    ['long after it', -DAY_MS, {}, { kind: 'end_term' }],
    ['while it is being stopped', 0, { status: 'stopping' }, null],
    ['while nobody sees it', 0, { status: 'unknown' }, null],
    ['once it is on demand', 0, { billingType: 'postpay' }, null],
    ['before it has begun', 0, { expiryTime: null }, null],
    ['once it is to be removed', 0, { desired: 'terminated' }, null],
    ['once it is removed', 0, { terminatedAt: END }, null],
  ] as const)('%s', (_, leftMs, changes, step) => {
    expect(termStepOf(paid(changes), before(leftMs))).toEqual(step)
  })

  test.each([
    ['at first three days before', 5 * DAY_MS, 3 * DAY_MS],
    ['then a day before', 3 * DAY_MS, DAY_MS],
    ['then at its end', DAY_MS, 0],
  ])('is next %s', (_, leftMs, nextLeftMs) => {
    expect(nextTermStep(paid(), before(leftMs))).toEqual(before(nextLeftMs))
  })

  test('is nothing more after its end, and nothing on demand', () => {
    expect(nextTermStep(paid(), END)).toBeNull()
    expect(nextTermStep(paid({ billingType: 'postpay' }), before(5 * DAY_MS))).toBeNull()
  })
})

describe('[R4.3] a renewal begins', () => {
  const since = (ms: number) => ({ statusSince: before(ms) })
  test.each([
    ['where the term before it ended', since(DAY_MS), before(-1_000), END],
    ['there also within the hour', since(DAY_MS), before(-HOUR_MS), END],
    [
      'when it is made, where nobody watched for longer',
      since(DAY_MS),
      before(-HOUR_MS - 1),
      before(-HOUR_MS - 1),
    ],
    [
      'where the machine came to be seen again',
      since(-2 * HOUR_MS),
      before(-2 * HOUR_MS - 5),
      before(-2 * HOUR_MS),
    ],
  ])('%s', (_, row, now, from) => {
    expect(renewalStart(row, END, now)).toEqual(from)
  })
})
