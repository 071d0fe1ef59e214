import { once } from 'node:events'
import { type Duplex, duplexPair } from 'node:stream'
import { listFiles, planUpload, startFileDownload } from '@berth/contract/files'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { heldBytes } from '../../../../test/held-bytes.ts'
import { createFakeEngine } from '../../../drivers/compute/fake/fake-engine.ts'
import { ComputeError, type ComputeErrorCode } from '../../../drivers/compute/port/compute-error.ts'
import { encodeFrame, encodeJson, FRAME } from '../../../drivers/compute/sessions/frames.ts'
import { systemClock } from '../../../platform/clock.ts'
import { CALLERS, type ConnectFixture, eventually, startConnectFixture } from '../reach-fixture.ts'
import { filesOf } from './files-fixture.ts'

// Goal: whatever a machine answers when it is asked about its files, nobody else is harmed, and its customer gets a
// sentence. Method: the real server; the program that is run in the machine is the test's own.

const MIB = 1024 * 1024
const HELD_BYTES_MAX = 16 * MIB

let gateway: ConnectFixture
let id: string
let files: ReturnType<typeof filesOf>
/** What the machine does with a program that it is to run. */
let program: (line: Duplex) => void
let refusal: ComputeErrorCode | null = null
/** How many of its lines were closed. */
let left = 0

beforeAll(async () => {
  const engine = createFakeEngine({ clock: systemClock })
  const run = async () => {
    if (refusal) throw new ComputeError(refusal, 'no')
    const [near, far] = duplexPair()
    far.on('error', () => undefined).resume()
    near.once('close', () => left++)
    program(far)
    return near
  }
  const reached = { ...engine, console: { ...engine.console, programs: { run } } }
  gateway = await startConnectFixture(reached, {
    files: {
      answerMs: 1_000,
      idleMs: 3_000,
      transfers: { perInstanceMax: 2, perCustomerMax: 2, max: 10 },
      sessionsMs: 60_000,
    },
  })
  ;({ id } = await gateway.addInstance())
  files = filesOf(gateway, id)
})
afterAll(() => gateway.close())

const out = (text: string | Buffer) => encodeFrame(FRAME.data, Buffer.from(text as string, 'latin1'))
const exit = (code: number) => encodeJson(FRAME.exit, { code, signal: null })
/** Says something, and ends. */
const says = (text: string, code = 0) => {
  program = line => {
    if (text !== '') line.write(out(text))
    line.end(exit(code))
  }
}
/** Saves a file, all of it. */
const whole = async () => {
  const { response } = await files.save('/x')
  if (!response.ok) throw new Error('no file')
  return response.text()
}
const list = () => files.ask(listFiles, { query: { path: '/x' } })

test.each([
  ['nothing', ''],
  ['no figures', '/x\0many\0\0\0'],
  ['too many of them', '/x\u00001e99\0\0\0'],
  ['a place that is none', 'x\u00000\0\0\0'],
  ['more names than were asked for', `/x\u00001\0${'a\0'.repeat(501)}\0\0`],
  ['half an answer', '/x\u00001\0a\0'],
])('[B19] a listing of %s is no listing', async (_what, text) => {
  says(text)
  await expect(list()).rejects.toThrow('files_unclear')
})

test('[B19] names that no file can have are left out, and markup is text', async () => {
  const long = 'x'.repeat(256)
  const names = ['..', '.', 'a/b', long, '<img src=x>', 'ok']
  const stats = names.map(name => `81a4 1 0 ${name}\n`).join('')
  says(`/x\u00006\0${names.join('\0')}\0\0${stats}\0${stats}`)
  expect((await list()).entries.map(({ name }) => name)).toEqual(['<img src=x>', 'ok'])
  says('/x\u00001\0a\0\u000081a4 99999999999999999999 0 a\n\u0000')
  expect((await list()).entries).toEqual([])
  says('/x\u00001\0a\0\u000081a4 1 -5 a\n\u0000')
  expect((await list()).entries).toMatchObject([{ name: 'a', modified_at: null }])
  says('-\n-\n')
  const body = { files: [{ path: '/x/a', size: 1, modified_at: 1 }] }
  await expect(files.ask(planUpload, { body })).rejects.toThrow('files_unclear')
})

test('[B19] [B9] a machine that never ends, in bytes or in time, is left after a while, and little of it is kept', async () => {
  left = 0
  program = line => {
    const pour = () => {
      while (!line.destroyed && line.write(out('x'.repeat(32 * 1024))));
    }
    line.on('drain', pour)
    pour()
  }
  const before = heldBytes()
  await expect(list()).rejects.toThrow('files_unclear')
  program = () => undefined
  await expect(list()).rejects.toThrow('files_unclear')
  await eventually('the lines are closed', () => left === 2)
  expect(heldBytes() - before).toBeLessThan(HELD_BYTES_MAX)
})

test('[B19] what a program says of itself is passed on as plain words', async () => {
  program = line => {
    line.write(encodeFrame(FRAME.stderr, Buffer.from(`first\ncp: \u001b[31m<b>${'y'.repeat(400)}`)))
    line.end(exit(1))
  }
  await expect(list()).rejects.toThrow('file_failed')
  for (const [code, word] of [
    [41, 'file_not_found'],
    [47, 'files_no_tool'],
    [127, 'files_no_tool'],
    [300, 'unavailable'],
  ] as const) {
    says('', code)
    await expect(list()).rejects.toThrow(word)
  }
  program = line => line.destroy()
  await expect(list()).rejects.toThrow('unavailable')
})

test.each([
  ['no_shell', 'files_no_shell'],
  ['unsupported', 'files_unsupported'],
  ['outdated', 'files_outdated'],
  ['exhausted', 'transfer_limit'],
  ['not_running', 'instance_not_running'],
  ['failed', 'unavailable'],
] as const)('[B19] a machine in which nothing can be run is told by its code: %s', async (code, told) => {
  refusal = code
  await expect(list()).rejects.toThrow(told)
  refusal = null
})

test.each([
  ['no head', 'x'.repeat(200)],
  ['a head that is none', 'file many\n'],
  ['a place that nobody asked for', 'file 10 0 5\nabcde'],
])('[B19] a download that begins with %s is none', async (_what, text) => {
  says(text)
  const { response } = await files.save('/x')
  expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([
    409,
    'files_unclear',
  ])
})

test('[B19] a file gives as many bytes as it said: more are cut, and fewer are no whole file', async () => {
  says(`file 4 0 0\n${'abcdefgh'.repeat(10_000)}`)
  expect(await (await files.save('/x')).response.text()).toBe('abcd')
  says('file 400 0 0\nabcd')
  await expect(whole()).rejects.toThrow()
  says('folder\nabc', 2)
  await expect(whole()).rejects.toThrow()
})

test('[B19] a transfer that carries nothing is ended, whoever of the two it is that waits', async () => {
  program = line => line.write(out('file 4 0 0\nab'))
  await expect(whole()).rejects.toThrow()
  const stalled = files.begin({ path: '/x', bytes: Buffer.alloc(100) })
  stalled.request.write(Buffer.alloc(10))
  await expect(stalled.answered).rejects.toThrow('transfer_idle')
  stalled.request.destroy()
})

test('[B19] so many transfers are under way as there may be, and each that ends makes room', async () => {
  let begun = 0
  program = () => {
    begun++
  }
  const begin = (path: string) => {
    const one = files.begin({ path, bytes: Buffer.alloc(100_000) })
    one.request.write(Buffer.alloc(1))
    return one
  }
  const two = ['/a', '/b'].map(begin)
  await eventually('both are under way', async () => begun === two.length)
  await eventually('no room', async () => {
    // Neither ends by itself meanwhile, for having carried nothing.
    for (const { request } of two) request.write(Buffer.alloc(1))
    const third = begin('/c')
    const code = await Promise.race([
      third.answered.then(
        () => '',
        error => (error as Error).message,
      ),
      once(third.request, 'error').then(() => ''),
    ])
    third.request.destroy()
    return code === 'transfer_limit'
  })
  for (const { request } of two) request.destroy()
  says('file 1 0 0\na')
  await eventually('room again', async () => (await files.save('/x')).response.ok)
})

test('[B19] of two who send the same file the one that came last does', async () => {
  let begun = 0
  program = () => {
    begun++
  }
  const file = { path: '/same', bytes: Buffer.alloc(100) }
  const first = files.begin(file)
  first.request.write(Buffer.alloc(10))
  await eventually('under way', () => begun === 1)
  program = line => line.end(exit(0))
  expect(await files.send(file)).toMatchObject({ is_done: true })
  await expect(first.answered).rejects.toThrow('file_out_of_step')
  first.request.destroy()
})

test('[B19] [B12] a session that ends takes its transfers and its tickets with it', async () => {
  program = line => line.write(out('file 4 0 0\nab'))
  const { path: unused } = await files.ask(startFileDownload, { body: { path: '/x' } })
  const { response } = await files.save('/x')
  gateway.sessions.end(CALLERS.anna.sessionId)
  await expect(response.text()).rejects.toThrow()
  expect((await fetch(gateway.server.origin + unused)).status).toBe(410)
  gateway.sessions.reopen(CALLERS.anna.sessionId)
})
