import { QUARTER_STATES, REWARD_TYPES } from '@berth/contract/referral'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TERMS } from './referral-fixture.ts'
import { DAY_MS, HOUR_MS, nextStep, type Settling } from './settlement-plan.ts'
import { splitCash } from './terms.ts'

/**
 * Goal: whatever a quarter's row says, and whenever it is looked at, its next step is one that may be (R9.7).
 * Method: properties of the pure plan, over rows and moments of chance.
 */

const moment = fc.integer({ min: 0, max: 400 }).map(days => new Date(Date.UTC(2027, 0, 1) + days * DAY_MS))
const maybe = (of: fc.Arbitrary<Date>) => fc.option(of, { nil: null })
const row: fc.Arbitrary<Settling> = fc.record({
  state: fc.constantFrom(...QUARTER_STATES),
  rewardType: fc.option(fc.constantFrom(...REWARD_TYPES), { nil: null }),
  chosenAt: maybe(moment),
  closedAt: maybe(moment),
  amountMicro: fc.bigInt({ min: 1n, max: 10n ** 12n }),
  chooseUntil: maybe(moment),
  remindedAt: maybe(moment),
  payoutAt: maybe(moment),
})
const WAITING = ['choosing', 'failed', 'to_be_paid']

test('[R9.7] nothing is done with a quarter that runs, is settled, or is with whoever pays', () => {
  fc.assert(
    fc.property(row, maybe(moment), moment, (settling, confirmedAt, now) => {
      const { act } = nextStep(settling, { confirmedAt, terms: TERMS, now })
      if (!WAITING.includes(settling.state)) expect(act).toBe('wait')
    }),
  )
})

test('[R9.7] money is handed over only where it was chosen, to a confirmed account, 72 h after all that it needs', () => {
  fc.assert(
    fc.property(row, maybe(moment), moment, (settling, confirmedAt, now) => {
      const step = nextStep(settling, { confirmedAt, terms: TERMS, now })
      if (step.act === 'pay') {
        expect([settling.state, confirmedAt === null]).toEqual(['to_be_paid', false])
        expect(settling.payoutAt && settling.payoutAt <= now).toBe(true)
      }
      if (step.act !== 'schedule') return
      expect(settling.rewardType).toBe('cash')
      for (const at of [settling.closedAt, settling.chosenAt, confirmedAt]) {
        if (at) expect(step.payoutAt.getTime() - at.getTime()).toBeGreaterThanOrEqual(72 * HOUR_MS)
      }
    }),
  )
})

test('[R9.7] a quarter that waits is credited where that is chosen or the time to choose is over, and never before', () => {
  fc.assert(
    fc.property(row, maybe(moment), moment, (settling, confirmedAt, now) => {
      const { act } = nextStep(settling, { confirmedAt, terms: TERMS, now })
      const isOver = now.getTime() >= (settling.chooseUntil?.getTime() ?? 0)
      if (act === 'credit') expect(settling.rewardType === 'bonus' || isOver).toBe(true)
      const isWaiting = settling.state === 'choosing' || settling.state === 'failed'
      if (isWaiting && isOver) expect(['credit', 'schedule']).toContain(act)
    }),
  )
})

test('[R9.7] what is paid, kept and left adds up, the fee is 20% of whole cents, and less than a cent is left', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 12n), max: 10n ** 15n }), amountMicro => {
      const { netMicro, feeMicro, restMicro } = splitCash(amountMicro, TERMS)
      expect(netMicro + feeMicro + restMicro).toBe(amountMicro)
      if (amountMicro <= 0n) {
        expect([netMicro, feeMicro]).toEqual([0n, 0n])
        return
      }
      expect(restMicro >= 0n && restMicro < 10_000n).toBe(true)
      expect([netMicro % 10_000n, feeMicro % 10_000n]).toEqual([0n, 0n])
      // Of the fee's part of a cent nothing is taken.
      const gross = netMicro + feeMicro
      expect(feeMicro * 5n <= gross && (feeMicro + 10_000n) * 5n > gross).toBe(true)
    }),
  )
})
