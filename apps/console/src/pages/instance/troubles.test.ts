import { expect, test } from 'vitest'
import { madeInstance } from '../../instances/instance-fixture.ts'
import { rateOf, withSample } from './pull-rate.ts'
import { startSteps } from './start-steps.ts'
import { lackedPortsOf, oomKillsOf, troublesOf } from './troubles.ts'

const SINCE = '2026-11-20T12:00:00.000Z'
const codesOf = (part: Parameters<typeof madeInstance>[0]) =>
  troublesOf(madeInstance(part), null).map(({ code, way }) => [code, way])

function ended(exit_code: number, more: { count?: number; again_at?: string } = {}) {
  return { command_end: { exit_code, ended_at: SINCE, count: 1, again_at: null, ...more } }
}

test.each([
  ['runs', {}, []],
  ['finished its command as it should', ended(0), []],
  ['has no such program', ended(127), [['command_missing', 'see_log']]],
  ['may not run its program', ended(126), [['command_not_run', 'see_log']]],
  ['had its command killed', ended(137), [['killed', 'see_log']]],
  ['ended with another code', ended(3), [['command_ended', 'see_log']]],
  ['was started again once, as asked for', ended(3, { again_at: SINCE }), []],
  ['ends again and again', ended(3, { count: 3, again_at: SINCE }), [['command_again', 'see_log']]],
  ['failed', { status: 'error', reason: { code: 'image_not_found', detail: '' } }, [['failed', 'start']]],
  ['cannot be seen', { status: 'unknown' }, [['unseen', null]]],
  [
    'was stopped for an empty wallet',
    { status: 'stopped', reason: { code: 'balance_used_up', detail: '' } },
    [['no_balance', 'top_up']],
  ],
  [
    'was stopped at a budget',
    { status: 'stopped', reason: { code: 'budget_reached', detail: '' } },
    [['at_budget', 'see_budgets']],
  ],
  [
    'filled its host’s disk',
    { status: 'exited', reason: { code: 'disk_full', detail: '' } },
    [['disk_full', 'start']],
  ],
] as const)('what to do is said at the top of the page of an instance that %s', (_what, part, expected) => {
  expect(codesOf(part as Parameters<typeof madeInstance>[0])).toEqual(expected)
})

test('[R9.6] the deletion of one that stays stopped is said from its first announcement on', () => {
  const stopped = madeInstance({ status: 'stopped', deleted_on: '2026-12-20T12:00:00.000Z' })
  const on = (date: string) =>
    troublesOf(stopped, null, undefined, Date.parse(date)).map(({ code, way }) => [code, way])
  expect(on('2026-12-13T11:59:59.999Z')).toEqual([])
  expect(on('2026-12-13T12:00:00.000Z')).toEqual([['deletion', 'start']])
  expect(on('2026-12-20T12:00:00.000Z')).toEqual([['deletion', 'start']])
})

test('[B4] a virtual machine that nothing is left to pay for says when it is deleted, and leads to the payment', () => {
  const unpaid = madeInstance({ kind: 'VM', status: 'stopped', deleted_on: '2027-12-20T12:00:00.000Z' })
  expect(troublesOf(unpaid, null).map(({ code, way }) => [code, way])).toEqual([
    ['deletion_unpaid', 'top_up'],
  ])
})

test('[R2.23] a port for which none of the gateway’s was left is named, until it has one', () => {
  const running = madeInstance({ ready_at: SINCE })
  const told = (code: 'ports_used_up' | 'ready', detail: string, at = SINCE) => ({ code, detail, at })
  const before = '2026-11-20T11:59:59.999Z'
  const events = [
    told('ports_used_up', '53/udp'),
    told('ports_used_up', '22/tcp'),
    told('ports_used_up', '80/tcp', before),
    told('ready', ''),
  ]
  expect(lackedPortsOf(running, events, { tcp: [], udp: [] })).toEqual(['22/tcp', '53/udp'])
  const lacked = lackedPortsOf(running, events, { tcp: [{ port: 22 }], udp: [{ port: 22 }] })
  expect(lacked).toEqual(['53/udp'])
  expect(troublesOf(running, null, { lackedPorts: lacked, oomKills: 0 })).toMatchObject([
    { code: 'ports_used_up', values: { ports: '53/udp' }, way: null },
  ])
})

test('[B9] that it ran out of memory is said first, by what its engine saw and not by a code, for a day or until it is ready again', () => {
  const running = madeInstance({ ready_at: SINCE })
  const after = (ms: number) => new Date(Date.parse(SINCE) + ms).toISOString()
  const events = [
    { code: 'renamed', detail: '', at: after(3_000) },
    { code: 'out_of_memory', detail: '2', at: after(2_000) },
    { code: 'out_of_memory', detail: '1', at: after(1_000) },
  ] as const
  const at = (ms: number, seen: Parameters<typeof oomKillsOf>[1] = events, instance = running) =>
    oomKillsOf(instance, seen, Date.parse(SINCE) + ms)
  expect(at(3_000)).toBe(2)
  expect(at(86_400_000)).toBe(2)
  expect(at(86_402_001)).toBe(0)
  expect(at(3_000, [])).toBe(0)
  expect(at(3_000, events, madeInstance({ ready_at: after(2_500) }))).toBe(0)
  expect(at(3_000, events, madeInstance({ ready_at: SINCE, status: 'stopped' }))).toBe(0)
  const troubles = (part: Parameters<typeof madeInstance>[0]) =>
    troublesOf(madeInstance(part), null, { lackedPorts: [], oomKills: 2 }).map(({ code }) => code)
  expect(troubles({})).toEqual(['out_of_memory'])
  expect(troubles(ended(137))).toEqual(['out_of_memory'])
  expect(troubles(ended(3))).toEqual(['out_of_memory', 'command_ended'])
})

test('a disk that is nearly full is said before it is', () => {
  const running = madeInstance({})
  const disk = (share: number) => ({ share, left: '3.6 GB' })
  expect(troublesOf(running, disk(0.89))).toEqual([])
  expect(troublesOf(running, disk(0.914))).toMatchObject([
    { code: 'disk_near', values: { percent: 91, left: '3.6 GB' } },
  ])
  // What it was when it ran says nothing of one that is stopped.
  expect(troublesOf(madeInstance({ status: 'stopped' }), disk(0.99))).toEqual([])
})

const progress = (step: 'scheduled' | 'pulling' | 'booting' | 'probing') => ({
  step,
  percent: 40,
  bytes_done: null,
  bytes_total: null,
})
const at = (seconds: number) => new Date(Date.parse(SINCE) + seconds * 1_000).toISOString()

test('[B6] the steps of a start say which is under way, and how long each took', () => {
  const events = [
    { code: 'booting', at: at(8) },
    { code: 'pulling', at: at(2) },
    { code: 'deployed', at: at(0) },
    { code: 'stopped', at: at(-50) },
    { code: 'pulling', at: at(-90) },
  ] as const
  expect(startSteps(progress('booting'), events, Date.parse(at(11)))).toEqual([
    { step: 'scheduled', state: 'done', seconds: 2 },
    { step: 'pulling', state: 'done', seconds: 6 },
    { step: 'booting', state: 'now', seconds: 3 },
    { step: 'probing', state: 'later', seconds: null },
  ])
  // Ports are probed without an event: how long that takes is not known, and not made up.
  expect(startSteps(progress('probing'), events, Date.parse(at(11)))[3]).toEqual({
    step: 'probing',
    state: 'now',
    seconds: null,
  })
})

test('[B6] a pull says how fast it goes, and nothing before that can be known', () => {
  const first = withSample([], { atMs: 1_000, bytes: 5_000_000 })
  expect(rateOf(first)).toBeNull()
  const second = withSample(first, { atMs: 3_000, bytes: 25_000_000 })
  expect(rateOf(second)).toBe(10_000_000)
  // It stands still, and is seen to.
  expect(rateOf(withSample(second, { atMs: 13_000, bytes: 25_000_000 }))).toBe(0)
  // Another try begins anew.
  expect(withSample(second, { atMs: 4_000, bytes: 10 })).toEqual([{ atMs: 4_000, bytes: 10 }])
})
