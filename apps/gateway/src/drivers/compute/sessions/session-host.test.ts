import { duplexPair } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { readAnswer } from '../port/answers.ts'
import { type ConsoleLine, type LineEnd, openLine } from '../port/console-line.ts'
import { encodeJson, FRAME } from './frames.ts'
import type { PtyEvents, PtyProcess } from './session.ts'
import { createSessionHost, type SessionHost } from './session-host.ts'
import { SESSION_LIMITS, type SessionLimits } from './session-limits.ts'

// A shell that the test plays itself, and lines to it as gateways have them. What real shells do is in the conformance
// suite of the console; here is what only a host can be asked for exactly.

const ANSWER_MS = 5_000
const hosts: SessionHost[] = []
afterEach(() => {
  for (const host of hosts.splice(0)) host.closeAll()
})

test('[B9] a shell is opened once for its name, in the size and with the environment of its first viewer', async () => {
  const { host, shells } = makeHost()
  await attach(host, { cols: 100, rows: 30, env: { A: '1' } })
  await attach(host, { cols: 120, rows: 40, env: { A: '2' } })
  await attach(host, { session: 'other' })
  expect(shells.map(({ options }) => options)).toEqual([
    { session: 'web', cols: 100, rows: 30, env: { A: '1' } },
    { session: 'other', cols: 80, rows: 24, env: {} },
  ])
  // Whoever came last says how large it is.
  expect(shells[0]?.sizes).toEqual([[120, 40]])
})

test('[B9] whoever comes later is shown what was before, and then what comes, as the others are', async () => {
  const { host, shells } = makeHost()
  const one = await attach(host)
  shells[0]?.say('before\r\n')
  await one.shows('before\r\n')
  const two = await attach(host)
  await two.shows('[before\r\n]')
  shells[0]?.say('after')
  await one.shows('[]before\r\nafter')
  await two.shows('[before\r\n]after')
})

test('[B9] a line that breaks leaves its shell, which goes on and is shown to the next', async () => {
  const { host, shells } = makeHost()
  const one = await attach(host)
  one.line.close()
  await vi.waitFor(async () => expect(await list(host)).toEqual([{ session: 'web', viewers: 0 }]))
  shells[0]?.say('meanwhile')
  expect(shells[0]?.paused).toBe(false)
  await (await attach(host)).shows('[meanwhile]')
  expect(shells).toHaveLength(1)
})

test('the end of a shell is told behind its output, and its name is free again', async () => {
  const { host, shells } = makeHost()
  const one = await attach(host)
  shells[0]?.say('last words')
  shells[0]?.exit(7)
  expect(await one.end).toEqual({ reason: 'exited', code: 7 })
  expect(one.text()).toBe('[]last words')
  expect(host.size).toBe(0)
  await attach(host)
  expect(shells).toHaveLength(2)
})

test('a session that is closed hangs its shell up and tells its viewers why; one that is not there is no error', async () => {
  const { host, shells } = makeHost()
  const one = await attach(host)
  await ask(host, { op: 'close_session', session: 'none' })
  await ask(host, { op: 'close_session', session: 'web' })
  expect(await one.end).toEqual({ reason: 'closed', code: null })
  expect(shells[0]?.hungUp).toBe(true)
})

test('a shell that cannot be made is told to all who waited for it, and may be tried again', async () => {
  let works = false
  const { host } = makeHost({}, () => {
    if (!works) throw new Error('no pty is left')
  })
  const tries = await Promise.allSettled([attach(host), attach(host)])
  expect(tries.map(one => one.status === 'rejected' && String(one.reason))).toEqual(
    Array(2).fill('ComputeError: no pty is left'),
  )
  works = true
  await attach(host)
})

describe('a slow viewer', () => {
  const limits = { unackedHighBytes: 1_000, unackedLowBytes: 500 }
  const flood = 'x'.repeat(2_000)
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(() => void vi.useRealTimers())

  test('halts the program until it has rendered, while it renders at all', async () => {
    const { host, shells } = makeHost(limits)
    const slow = await attach(host, { acks: false })
    shells[0]?.say(flood)
    await until(() => shells[0]?.paused)
    for (let sign = 0; sign < 10; sign++) {
      slow.line.ack(0)
      await turns()
      vi.advanceTimersByTime(SESSION_LIMITS.stalledMs)
    }
    expect(shells[0]?.paused).toBe(true)
    slow.line.ack(2_000)
    await until(() => shells[0]?.paused === false)
    expect(slow.text()).toBe(`[]${flood}`)
  })

  test('is left behind when it renders nothing, and shown the end of it all when it is back', async () => {
    const { host, shells } = makeHost(limits)
    const slow = await attach(host, { acks: false })
    const quick = await attach(host)
    shells[0]?.say(flood)
    await until(() => shells[0]?.paused)
    await turns()
    vi.advanceTimersByTime(SESSION_LIMITS.stalledMs)
    await until(() => shells[0]?.paused === false)
    shells[0]?.say('on')
    await until(() => quick.text() === `[]${flood}on`)
    expect(slow.text()).toBe(`[]${flood}`)
    slow.line.ack(2_000)
    await until(() => slow.text() === `[]${flood}[${flood}on]`)
  })
})

test('typing waits with whoever types while the shell does not take it, and none of it is lost', async () => {
  const { host, shells } = makeHost()
  const one = await attach(host)
  const shell = shells[0]
  if (!shell) throw new Error('no shell')
  shell.takes = false
  const typed = Array.from({ length: 200 }, (_, at) => `${at},`.repeat(200))
  for (const piece of typed) one.line.type(Buffer.from(piece))
  await vi.waitFor(() => expect(one.line.bytesHeld).toBeGreaterThan(0))
  expect(shell.typed().length).toBeLessThan(typed.join('').length)
  shell.takes = true
  shell.drain()
  await vi.waitFor(() => expect(shell.typed()).toBe(typed.join('')))
})

describe('bounds', () => {
  test.each<[string, Partial<SessionLimits>, LineEnd['reason']]>([
    ['viewers of a shell', { viewersPerSessionMax: 1 }, 'too_many_viewers'],
    ['shells of a host', { sessionsMax: 1 }, 'too_many_sessions'],
  ])('on %s', async (_, limits, reason) => {
    const { host } = makeHost(limits)
    await attach(host)
    const session = reason === 'too_many_sessions' ? 'other' : 'web'
    expect(await (await attach(host, { session })).end).toEqual({ reason, code: null })
  })

  test('on the time without a viewer', async () => {
    const { host, shells } = makeHost({ idleMs: 30 })
    const one = await attach(host)
    one.line.close()
    await vi.waitFor(() => expect(shells[0]?.hungUp).toBe(true))
    expect(host.size).toBe(0)
  })

  test.each(['', 'A', '../x', 'x'.repeat(41)])('on names: %j', async session => {
    await expect(attach(makeHost().host, { session })).rejects.toThrow('no name')
  })

  test('on words: a peer that says something else is cut off, its shell is not', async () => {
    const { host } = makeHost()
    const { stream } = await attach(host)
    stream.write(encodeJson(FRAME.request, { op: 'attach' }))
    await vi.waitFor(async () => expect(await list(host)).toEqual([{ session: 'web', viewers: 0 }]))
  })
})

class Shell implements PtyProcess {
  readonly sizes: [number, number][] = []
  paused = false
  hungUp = false
  takes = true
  private readonly input: Buffer[] = []
  readonly options: { cols: number; rows: number; env: Record<string, string> }
  private readonly events: PtyEvents

  constructor(options: Shell['options'], events: PtyEvents) {
    this.options = options
    this.events = events
  }
  write(data: Buffer): boolean {
    this.input.push(Buffer.from(data))
    return this.takes
  }
  resize(cols: number, rows: number): void {
    this.sizes.push([cols, rows])
  }
  pause(): void {
    this.paused = true
  }
  resume(): void {
    this.paused = false
  }
  hangUp(): void {
    this.hungUp = true
    this.exit(129)
  }
  say(text: string): void {
    this.events.onData(Buffer.from(text))
  }
  exit(code: number): void {
    this.events.onEnd(code)
  }
  drain(): void {
    this.events.onDrain()
  }
  typed(): string {
    return Buffer.concat(this.input).toString()
  }
}

function makeHost(limits: Partial<SessionLimits> = {}, beforeOpen: () => void = () => undefined) {
  const shells: Shell[] = []
  const host = createSessionHost({
    limits: { ...SESSION_LIMITS, ...limits },
    failureOf: error => ({ code: 'failed', message: (error as Error).message }),
    open: async (options, events) => {
      beforeOpen()
      const shell = new Shell(options, events)
      shells.push(shell)
      return shell
    },
  })
  hosts.push(host)
  return { host, shells }
}

interface AttachOptions {
  session?: string
  cols?: number
  rows?: number
  env?: Record<string, string>
  /** False for a viewer that renders nothing. */
  acks?: boolean
}

/** A line to a shell. Its text has a replay in brackets. */
async function attach(host: SessionHost, options: AttachOptions = {}) {
  const { session = 'web', cols = 80, rows = 24, env = {}, acks = true } = options
  const [stream, far] = duplexPair()
  host.serve(far, { op: 'attach', session, cols, rows, env })
  await readAnswer(stream, ANSWER_MS)
  let shown = ''
  let onEnd: (end: LineEnd) => void = () => undefined
  const end = new Promise<LineEnd>(resolve => {
    onEnd = resolve
  })
  const line: ConsoleLine = openLine(stream, {
    onReplayBegin: () => {
      shown += '['
    },
    onReplayEnd: () => {
      shown += ']'
    },
    onOutput: bytes => {
      shown += bytes.toString()
      if (acks) line.ack(bytes.length)
    },
    onDrain: () => undefined,
    onEnd,
  })
  return {
    stream,
    line,
    end,
    text: () => shown,
    shows: (text: string) => vi.waitFor(() => expect(shown).toContain(text)),
  }
}

/** Lets what is under way between streams arrive. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise(resolve => setImmediate(resolve))
}

/** Waits for something that comes without a timer; the test's own time-out bounds it. */
async function until(check: () => boolean | undefined): Promise<void> {
  while (!check()) await turns()
}

async function ask(host: SessionHost, request: Parameters<SessionHost['serve']>[1]): Promise<unknown> {
  const [stream, far] = duplexPair()
  host.serve(far, request)
  return readAnswer(stream, ANSWER_MS)
}

async function list(host: SessionHost): Promise<unknown> {
  return ((await ask(host, { op: 'sessions' })) as { sessions: unknown }).sessions
}
