import { INSTANCE_REASON_CODES } from '@berth/contract/instance-codes'
import { INSTANCE_STATUSES, statusesFor } from '@berth/contract/instance-states'
import { createInstance } from 'i18next'
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import common from '../../public/locales/en/common.json'
import events from '../../public/locales/en/events.json'
import instances from '../../public/locales/en/instances.json'
import { formatsOf } from '../ui/format.ts'
import { madeInstance } from './instance-fixture.ts'
import { type InstanceTexts, instanceTextsOf } from './instance-texts.ts'

let texts: InstanceTexts

beforeAll(async () => {
  const i18n = createInstance()
  await i18n.init({ lng: 'en', resources: { en: { common, events, instances } } })
  texts = instanceTextsOf(
    i18n.getFixedT('en', ['instances', 'common', 'events']),
    formatsOf('en', i18n.getFixedT('en', 'common')),
    'en',
  )
})

describe('what an instance costs', () => {
  const costOf = (part: Parameters<typeof madeInstance>[0]) => texts.cost(madeInstance(part))

  test('[R3.5] a running one: its rate, how long it is up, and the sum', () => {
    const ready_at = new Date(Date.now() - (6 * 3_600 + 12 * 60 + 5) * 1_000).toISOString()
    expect(costOf({ status: 'running', cost_micro: '2604000', ready_at })).toEqual({
      first: '$0.42 /h',
      up: 'up 6 h 12 m',
      second: '$2.60 so far',
    })
  })

  test('[B5] one with a limit: what it has cost of that', () => {
    const limited = { cost_micro: '2604000', spend_limit_cents: 1_000 }
    expect(costOf(limited).second).toBe('$2.60 of $10.00 so far')
    expect(costOf({ ...limited, status: 'error' }).first).toBe('$2.60 of $10.00')
  })

  test('[R4.7] a stopped one: what its disk costs a day', () => {
    const cost = costOf({ status: 'stopped', stopped_micro_per_day: '110000', cost_micro: '81230000' })
    expect(cost).toEqual({ first: '$0.11 /day', second: '$81.23 so far' })
  })

  test('[B6] one that comes up says that it is not billed', () => {
    expect(costOf({ status: 'pulling' }).second).toBe('not billed yet')
    const again = { status: 'creating', cost_micro: '420000' } as const
    expect(costOf(again).second).toBe('not billed now · $0.42 so far')
  })

  test('one that ends is billed until it has', () => {
    expect(costOf({ status: 'restarting', cost_micro: '420000' }).second).toBe('$0.42 so far')
    const second = 'in all, billed until it has ended'
    expect(costOf({ status: 'stopping', cost_micro: '420000' })).toEqual({ first: '$0.42', second })
  })

  test('[B6] one that failed costs nothing', () => {
    expect(costOf({ status: 'error' })).toEqual({ first: '$0.00', second: 'never billed' })
    expect(costOf({ status: 'error', cost_micro: '420000' }).first).toBe('$0.42')
  })

  test.each(INSTANCE_STATUSES)('%s has its unit or its sum, and a second line', status => {
    const { first, second } = costOf({ status })
    expect(first).toMatch(/^\$\d+\.\d\d( \/(h|day))?$/)
    expect(second).not.toBe('')
  })
})

describe('under the status', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: new Date(2026, 10, 20, 20) }))
  afterEach(() => void vi.useRealTimers())

  test('[B5] one that runs and will be stopped by itself says when', () => {
    const stop_at = new Date(2026, 10, 22, 18, 5).toISOString()
    const under = texts.underStatus(madeInstance({ stop_at }))
    expect(under).toBe('stops by itself 22 Nov, 18:05')
  })

  test('[B6] a pull counts its bytes', () => {
    const progress = {
      step: 'pulling',
      percent: 31,
      bytes_done: 6_100_000_000,
      bytes_total: 16_300_000_000,
    } as const
    expect(texts.underStatus(madeInstance({ status: 'pulling', progress }))).toBe('6.1 of 16.3 GB')
    const small = { ...progress, bytes_done: 1_200_000, bytes_total: 240_000_000 }
    expect(texts.underStatus(madeInstance({ status: 'pulling', progress: small }))).toBe('1.2 of 240 MB')
  })

  test('[B6] a start without bytes says its step and percent', () => {
    const progress = { step: 'booting', percent: 75, bytes_done: null, bytes_total: null } as const
    expect(texts.underStatus(madeInstance({ status: 'creating', progress }))).toBe('Booting, 75 %')
    expect(texts.underStatus(madeInstance({ status: 'running', progress }))).not.toContain('75')
  })

  test('it says whose doing it is, or why, and since when', () => {
    const at = (part: Parameters<typeof madeInstance>[0]) =>
      texts.underStatus(madeInstance({ status_since: new Date(2026, 10, 20, 18, 5).toISOString(), ...part }))
    expect(at({ status: 'running' })).toBe('since 20 Nov, 18:05')
    expect(at({ status: 'stopped' })).toBe('by you, 20 Nov, 18:05')
    const reason = { code: 'balance_used_up', detail: '' } as const
    expect(at({ status: 'stopped', reason })).toBe('The balance was used up, 20 Nov, 18:05')
    for (const status of INSTANCE_STATUSES) expect(at({ status }), status).toContain('20 Nov, 18:05')
  })

  test('a running one says how its start command ended, when, and whether it is run again', () => {
    const ended_at = new Date(2026, 10, 20, 18, 9).toISOString()
    const end = { exit_code: 3, ended_at, count: 1, again_at: null }
    const at = (part: Partial<typeof end>, again_at: string | null = null) =>
      texts.underStatus(
        madeInstance({
          status_since: new Date(2026, 10, 20, 18, 5).toISOString(),
          command_end: { ...end, ...part, again_at },
        }),
      )
    expect(at({})).toBe('Command ended, code 3, 20 Nov, 18:09')
    expect(at({ exit_code: 0 })).toBe('Command finished, 20 Nov, 18:09')
    expect(at({ exit_code: 127 })).toBe('Command not found, code 127, 20 Nov, 18:09')
    const soon = new Date(Date.now() + 5_000).toISOString()
    expect(at({ count: 12 }, soon)).toBe('Command ended 12×, code 3; started again, 20 Nov, 18:09')
    // One that has run since is at work.
    expect(at({ count: 12 }, new Date(Date.now() - 61_000).toISOString())).toBe('since 20 Nov, 18:05')
  })

  test('[R4.4] every reason is said in words', () => {
    for (const code of INSTANCE_REASON_CODES) {
      const words = texts.underStatus(madeInstance({ status: 'error', reason: { code, detail: '' } }))
      expect(words, code).not.toBe(code)
      expect(words, code).toMatch(/^[A-Z].* /)
    }
  })

  test('[R9.6] a stopped one names the day on which it is deleted, and why it is stopped', () => {
    const deleted_on = '2026-12-19T12:00:00.000Z'
    const stopped = madeInstance({ status: 'stopped', deleted_on })
    expect(texts.underStatus(stopped)).toBe('deleted on 19 Dec 2026 unless started')
    const ended = madeInstance({ status: 'exited', reason: { code: 'exited', detail: '' }, deleted_on })
    expect(texts.underStatus(ended)).toBe(
      'The machine ended by itself; deleted on 19 Dec 2026 unless started',
    )
    expect(texts.kept()).toBe(
      'If it stays stopped for 30 days it is deleted with its disk. Mails tell you 7, 3 and 1 days before.',
    )
  })
})

test('[R3.5] the machine is said with the memory of all its GPUs', () => {
  const two = madeInstance({ gpu_count: 2, vcpu: 24, memory_gb: 128 })
  expect(texts.machine(two)).toBe('2× RTX 4090')
  expect(texts.underMachine(two)).toBe('48 GB · 24 vCPU · 128 GB')
  expect(texts.underMachine(madeInstance({ status: 'stopped' }))).toBe('released')
  const plain = madeInstance({ gpu: false, gpu_spec_name: 'CPU only', vram_gb: 0, vcpu: 4, memory_gb: 16 })
  expect(texts.machine(plain)).toBe('CPU only')
  expect(texts.underMachine(plain)).toBe('4 vCPU · 16 GB')
})

test('[R4.5] the reason of an action that is off is a sentence made from the state table', () => {
  expect(texts.onlyIn(statusesFor('connect', 'POD'))).toBe('Only while the instance is running')
  expect(texts.onlyIn(statusesFor('start', 'POD'))).toBe(
    'Only while the instance is stopped, exited or in error',
  )
})
