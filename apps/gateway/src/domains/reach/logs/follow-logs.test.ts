import { PassThrough, Readable } from 'node:stream'
import { LOG_EVENT_LINES_MAX, LOG_LINE_CHARS_MAX } from '@berth/contract/limits'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { heldBytes } from '../../../../test/held-bytes.ts'
import { createFakeEngine } from '../../../drivers/compute/fake/fake-engine.ts'
import { ComputeError } from '../../../drivers/compute/port/compute-error.ts'
import { systemClock } from '../../../platform/clock.ts'
import { CALLERS, type ConnectFixture, eventually, startConnectFixture } from '../reach-fixture.ts'
import { type FollowedLog, followLog } from './follow-fixture.ts'

// Goal: a log as it is followed through the real server, whatever the machine writes and whoever reads it. Method: the
// stream that the engine gives is the test's own.

const MIB = 1024 * 1024
/** What a machine writes in the tests of floods. */
const FLOOD_BYTES = 16 * MIB
const HELD_BYTES_MAX = 6 * MIB
const PER_INSTANCE_MAX = 3

let gateway: ConnectFixture
let id: string
let makeLog: () => Promise<Readable>
let followed: FollowedLog[] = []

beforeAll(async () => {
  const engine = createFakeEngine({ clock: systemClock })
  const reached = { ...engine, observation: { ...engine.observation, followLogs: () => makeLog() } }
  gateway = await startConnectFixture(reached, { logs: { perInstanceMax: PER_INSTANCE_MAX } })
  ;({ id } = await gateway.addInstance())
})
beforeEach(() => {
  for (const log of followed) log.leave()
  followed = []
})
afterAll(() => gateway.close())

async function follow(token: 'anna' | 'ben' = 'anna', instanceId = id): Promise<FollowedLog> {
  const log = await followLog(gateway.server.origin, instanceId, token)
  followed.push(log)
  return log
}

/** A machine whose words the test chooses. */
function machine(): PassThrough {
  const written = new PassThrough()
  makeLog = async () => written
  return written
}

test('[B9] lines come as they are written, and one that has no end yet is shown as far as it is', async () => {
  const written = machine()
  const log = await follow()
  expect(log.type).toContain('text/event-stream')
  written.write('one\ntwo\n10 %\r 50 %')
  await log.shows(/^one\ntwo\n 50 %$/)
  written.write('\r100 %\nüb')
  // Half a character waits for its other half.
  written.write(Buffer.from('ü').subarray(0, 1))
  await log.shows(/two\n100 %\nüb$/)
  written.end(Buffer.from('ü').subarray(1))
  expect(await log.ended()).toBe('machine')
  expect(log.text()).toBe('one\ntwo\n100 %\nübü')
})

test('[R6.4] [B9] nobody follows the log of somebody else’s machine, and a missing one is told alike', async () => {
  machine()
  await expect(follow('ben')).rejects.toThrow('not_found')
  await expect(follow('anna', 'i-nowhere')).rejects.toThrow('not_found')
})

test('[B9] a machine that was not made yet, or does not run, ends its log at once', async () => {
  makeLog = () => Promise.reject(new ComputeError('not_found', 'no machine'))
  expect(await (await follow()).ended()).toBe('machine')
  makeLog = () => Promise.reject(new ComputeError('failed', 'the engine is ill'))
  await expect(follow()).rejects.toThrow('unavailable')
})

test('[B9] as many may follow one machine as there may be, and one that leaves makes room', async () => {
  machine()
  const [first] = await Promise.all(Array.from({ length: PER_INSTANCE_MAX }, () => follow()))
  await expect(follow()).rejects.toThrow('too_many_requests')
  first?.leave()
  await eventually('room for another', () => follow().catch(() => null))
})

test('[B9] [B12] a session that ends takes what it follows with it', async () => {
  machine().write('begun\n')
  const log = await follow()
  await log.shows(/begun/)
  gateway.sessions.end(CALLERS.anna.sessionId)
  expect(await log.ended()).toBe('session')
  gateway.sessions.reopen(CALLERS.anna.sessionId)
})

test.each([
  ['a flood of lines', Buffer.from('0123456789 step\n'.repeat(4_096))],
  ['a line without an end', Buffer.alloc(64 * 1024, 'x')],
  ['line feeds alone', Buffer.alloc(64 * 1024, '\n')],
  ['half of an escape, again and again', Buffer.from('\u001b]'.repeat(32 * 1024))],
])(
  '[B9] however much a machine writes, such as %s, little of it is kept and its end is shown',
  async (_what, chunk) => {
    makeLog = async () =>
      Readable.from(
        (function* () {
          for (let bytes = 0; bytes < FLOOD_BYTES; bytes += chunk.length) yield chunk
          yield Buffer.from('\nthe end\n')
        })(),
        { objectMode: false },
      )
    const before = heldBytes()
    const log = await follow()
    await log.shows(/the end\n$/)
    expect(await log.ended()).toBe('machine')
    for (const { lines, open } of log.events) {
      expect(lines.length).toBeLessThanOrEqual(LOG_EVENT_LINES_MAX)
      expect(Math.max(open.length, ...lines.map(line => line.length))).toBeLessThanOrEqual(
        LOG_LINE_CHARS_MAX + 1,
      )
    }
    expect(heldBytes() - before).toBeLessThan(HELD_BYTES_MAX + log.text().length * 8)
  },
)
