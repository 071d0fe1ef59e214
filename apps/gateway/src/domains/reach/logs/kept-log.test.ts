import { PassThrough, Readable } from 'node:stream'
import { type LogSearchEvent, searchInstanceLogs, startLogDownload } from '@berth/contract/instance-page'
import { LOG_CONTEXT_LINES, LOG_MATCH_CHARS_MAX, LOG_MATCHES_MAX } from '@berth/contract/limits'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { followCall } from '../../../../test/follow-call.ts'
import { heldBytes } from '../../../../test/held-bytes.ts'
import { createFakeEngine } from '../../../drivers/compute/fake/fake-engine.ts'
import { ComputeError } from '../../../drivers/compute/port/compute-error.ts'
import { systemClock } from '../../../platform/clock.ts'
import { CALLERS, type ConnectFixture, eventually, startConnectFixture } from '../reach-fixture.ts'
import { followLog } from './follow-fixture.ts'

// Goal: all that is kept of a log is searched and saved through the real server, however much it is and whoever reads it.
// Method: the stream that the engine gives is the test's own.

const MIB = 1024 * 1024
/** What the longest log of the tests has. */
const LONG_BYTES = 16 * MIB
const HELD_BYTES_MAX = 8 * MIB
const SEARCH_MS = 300

let gateway: ConnectFixture
let id: string
let makeLog: () => Promise<Readable>

beforeAll(async () => {
  const engine = createFakeEngine({ clock: systemClock })
  const reached = { ...engine, observation: { ...engine.observation, keptLog: () => makeLog() } }
  gateway = await startConnectFixture(reached, { logs: { searchMs: SEARCH_MS * 100 } })
  ;({ id } = await gateway.addInstance())
})
afterAll(() => gateway.close())

type Who = 'anna' | 'ben'

async function search(
  text: string,
  { token = 'anna' as Who, instanceId = id, origin = gateway.server.origin } = {},
) {
  const found: LogSearchEvent['matches'] = []
  const from = { token, params: { id: instanceId }, query: { text } }
  const { last, leave, events } = await followCall(origin, searchInstanceLogs, from, event => {
    found.push(...event.matches)
  })
  return { found, last, leave, events }
}

async function startDownload(token: Who = 'anna', instanceId = id) {
  return gateway.call(startLogDownload, { params: { id: instanceId } }, token)
}

/** Opens the address of a download. */
async function save(token: Who = 'anna'): Promise<Response> {
  const { data } = await startDownload(token)
  return fetch(gateway.server.origin + data.path)
}

const wrote = (text: string) => {
  makeLog = async () => Readable.from([Buffer.from(text)], { objectMode: false })
}

/** A log of so many lines that are alike but for their numbers. */
function* longLog(bytes: number): Generator<Buffer> {
  for (let line = 1, written = 0; written < bytes; ) {
    let piece = ''
    for (let at = 0; at < 500; at++, line++) piece += `step ${line} of a long way, and nothing else is new\n`
    written += piece.length
    yield Buffer.from(piece)
  }
}

test('[B9] every line that has a text is found, whatever its case and its colours, with the lines around it', async () => {
  wrote('one\ntwo\n\u001b[31mLo\u001b[0mss 1.2\nfour\nfive\nsix\n10 %\r loss 100 %')
  const { found, last } = await search('LOSS')
  expect(await last()).toMatchObject({ found: 2, lines: 7, ended: 'whole' })
  expect(found).toEqual([
    { line: 3, text: 'Loss 1.2', before: ['one', 'two'], after: ['four', 'five'] },
    { line: 7, text: ' loss 100 %', before: ['five', 'six'], after: [] },
  ])
  const none = await search('nowhere')
  expect(await none.last()).toMatchObject({ found: 0, matches: [], ended: 'whole' })
})

test('[B9] of however many lines that have it the last ones are shown, and long ones where it stands', async () => {
  const long = `${'x'.repeat(5_000)} needle ${'y'.repeat(5_000)}`
  wrote(`${'a needle\n'.repeat(10_000)}${long}\n`)
  const { last, events } = await search('needle')
  expect(await last()).toMatchObject({ found: 10_001, lines: 10_001, ended: 'whole' })
  for (const { matches } of events) expect(matches.length).toBeLessThanOrEqual(LOG_MATCHES_MAX)
  const end = events.at(-1)?.matches.at(-1)
  expect(end).toMatchObject({ line: 10_001, text: expect.stringMatching(/^…x+ needle y+…$/) })
  expect(end?.text.length).toBeLessThanOrEqual(LOG_MATCH_CHARS_MAX + 2)
  expect(end?.before).toHaveLength(LOG_CONTEXT_LINES)
})

test('[B9] a long log is searched to its end with little of it held, and its first line is found', async () => {
  makeLog = async () => Readable.from(longLog(LONG_BYTES), { objectMode: false })
  const before = heldBytes()
  const { found, last } = await search('step 1 of')
  const end = await last()
  expect(end).toMatchObject({ found: 1, ended: 'whole' })
  expect(end?.bytes).toBeGreaterThanOrEqual(LONG_BYTES)
  expect(found).toMatchObject([{ line: 1, before: [] }])
  expect(heldBytes() - before).toBeLessThan(HELD_BYTES_MAX)
}, 120_000)

test('[B9] a search that takes too long ends with what was found, and one that breaks off does not say that it was whole', async () => {
  const slow = await startConnectFixture(
    {
      ...createFakeEngine({ clock: systemClock }),
      observation: { ...createFakeEngine({ clock: systemClock }).observation, keptLog: () => makeLog() },
    },
    { logs: { searchMs: SEARCH_MS } },
  )
  try {
    const written = new PassThrough()
    makeLog = async () => written
    written.write('a needle\nand more\nand more\n')
    const { id: slowId } = await slow.addInstance()
    const { found, last } = await search('needle', { instanceId: slowId, origin: slow.server.origin })
    expect(await last()).toMatchObject({ found: 1, ended: 'time' })
    expect(found).toHaveLength(1)
    expect(written.destroyed).toBe(true)
  } finally {
    await slow.close()
  }
  const broken = new PassThrough()
  makeLog = async () => broken
  const { last } = await search('needle')
  broken.write('one\n')
  broken.destroy()
  expect((await last())?.ended).toBe('gateway')
})

test('[B9] all that is kept is saved as plain text, under the name of the instance, once', async () => {
  wrote('\u001b[32mone\u001b[0m\n10 %\r100 %\nü 漢\u0007\nthe end')
  const { data } = await startDownload()
  const saved = await fetch(gateway.server.origin + data.path)
  expect(saved.status).toBe(200)
  expect(await saved.text()).toBe('one\n100 %\nü 漢\nthe end\n')
  expect(saved.headers.get('content-type')).toBe('text/plain; charset=utf-8')
  expect(saved.headers.get('content-disposition')).toContain(`filename="${data.name}"`)
  expect(saved.headers.get('content-security-policy')).toContain('sandbox')
  const again = await fetch(gateway.server.origin + data.path)
  expect(((await again.json()) as { code: string }).code).toBe('download_ticket_invalid')
})

test('[B9] a long log is saved to its last line, and who does not read holds the machine up', async () => {
  let given = 0
  makeLog = async () =>
    Readable.from(
      (function* () {
        for (const piece of longLog(LONG_BYTES)) {
          given += piece.length
          yield piece
        }
      })(),
      { objectMode: false },
    )
  const before = heldBytes()
  const saved = await save()
  const reader = (saved.body as ReadableStream<Uint8Array>).getReader()
  await reader.read()
  let seen = -1
  await eventually('nothing more is read', async () => {
    const rests = given === seen
    seen = given
    await new Promise(resolve => setTimeout(resolve, 100))
    return rests
  })
  expect(given).toBeLessThan(LONG_BYTES / 2)
  expect(heldBytes() - before).toBeLessThan(HELD_BYTES_MAX)
  let bytes = 0
  let tail = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    bytes += value.length
    tail = (tail + new TextDecoder().decode(value)).slice(-200)
  }
  expect(bytes).toBeGreaterThan(LONG_BYTES - MIB)
  expect(tail).toMatch(/step \d+ of a long way, and nothing else is new\n$/)
}, 120_000)

test('[B9] a log that breaks off is no whole file', async () => {
  const written = new PassThrough()
  makeLog = async () => written
  written.write('one\n')
  const saved = await save()
  written.destroy()
  await expect(saved.text()).rejects.toThrow()
})

test('[B9] of a machine that was not made yet nothing is found, and an empty file is saved', async () => {
  makeLog = () => Promise.reject(new ComputeError('not_found', 'no machine'))
  expect(await (await search('x')).last()).toMatchObject({ found: 0, lines: 0, ended: 'whole' })
  expect(await (await save()).text()).toBe('')
  makeLog = () => Promise.reject(new ComputeError('failed', 'the engine is ill'))
  await expect(search('x')).rejects.toThrow('unavailable')
})

test('[R6.4] [B9] nobody searches or saves the log of somebody else’s machine, and a missing one is told alike', async () => {
  wrote('secret\n')
  for (const instanceId of [id, 'i-nowhere']) {
    const token = instanceId === id ? 'ben' : 'anna'
    await expect(search('secret', { token, instanceId })).rejects.toThrow('not_found')
    expect((await startDownload(token, instanceId)).code).toBe('not_found')
  }
})

test('[B9] [B12] a session that ends takes what it searches and saves with it', async () => {
  const written = new PassThrough()
  makeLog = async () => written
  written.write('a needle\n')
  const { last } = await search('needle')
  const { data } = await startDownload()
  gateway.sessions.end(CALLERS.anna.sessionId)
  expect((await last())?.ended).toBe('session')
  const late = await fetch(gateway.server.origin + data.path)
  expect(((await late.json()) as { code: string }).code).toBe('download_ticket_invalid')
  gateway.sessions.reopen(CALLERS.anna.sessionId)
})

test.each([
  ['a line without an end', Buffer.alloc(64 * 1024, 'x')],
  ['line feeds alone', Buffer.alloc(64 * 1024, '\n')],
  ['half of an escape, again and again', Buffer.from('\u001b]'.repeat(32 * 1024))],
])('[B9] whatever a machine wrote, such as %s, little of it is held', async (_what, chunk) => {
  makeLog = async () =>
    Readable.from(
      (function* () {
        for (let bytes = 0; bytes < MIB; bytes += chunk.length) yield chunk
      })(),
      { objectMode: false },
    )
  const before = heldBytes()
  const { last } = await search('x')
  expect((await last())?.ended).toBe('whole')
  expect((await (await save()).arrayBuffer()).byteLength).toBeLessThan(2 * MIB)
  expect(heldBytes() - before).toBeLessThan(HELD_BYTES_MAX)
})

// The last one: the gateway does not come back.
test('[B9] a gateway that leaves lets a download come to its end, and has nobody follow a log any more', async () => {
  const written = new PassThrough()
  makeLog = async () => written
  written.write('the first line\n')
  const { data } = await startDownload()
  const response = await fetch(gateway.server.origin + data.path)
  await gateway.connect.leave()
  written.end('the last line\n')
  expect(await response.text()).toBe('the first line\nthe last line\n')
  await expect(followLog(gateway.server.origin, id, 'anna')).rejects.toThrow('unavailable')
})
