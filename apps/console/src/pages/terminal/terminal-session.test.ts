import {
  decodeClientFrame,
  encodeServerFrame,
  TERMINAL_CLOSE,
  TERMINAL_INPUT_BYTES_MAX,
  type TerminalClientFrame,
  type TerminalEnd,
  type TerminalServerFrame,
} from '@berth/contract/terminal'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createTerminalSession, type SessionSocket, type TerminalState } from './terminal-session.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('[B9] a socket opens with a ticket of its own, and says the size first', async () => {
  const line = await connected()
  expect(line.sockets).toHaveLength(1)
  expect(line.offered).toEqual([['berth.terminal', 'berth.ticket.t1']])
  expect(line.sent()).toEqual([{ kind: 'resize', cols: 80, rows: 24 }])
})

test('[B9] after the replay it is open; a replay clears the screen and gets no answers', async () => {
  const line = await connected()
  line.serve({ kind: 'replay_begin' }, output('earlier\u001b[c'))
  line.session.type(text('answer of the emulator'))
  line.renderAll()
  line.session.type(text('still the replay'))
  expect(line.state()).toEqual({ kind: 'connecting' })
  line.serve({ kind: 'replay_end' })
  line.renderAll()
  line.session.type(text('ls\r'))
  expect(line.state()).toEqual({ kind: 'open' })
  expect(line.rendered()).toBe('\u001bcearlier\u001b[c')
  expect(line.typed()).toBe('ls\r')
})

test('[B9] output is acknowledged when it is on the screen, not when it has arrived', async () => {
  const line = await opened()
  for (let frame = 0; frame < 4; frame += 1) line.serve(output('x'.repeat(20_000)))
  expect(line.acked()).toBe(0)
  line.renderAll()
  expect(line.acked()).toBe(80_000)
})

test('[B9] what the last socket sent is not acknowledged on the next one', async () => {
  const line = await opened()
  line.serve(output('x'.repeat(65_536)))
  line.break(1006)
  await vi.advanceTimersByTimeAsync(600)
  line.renderAll()
  expect(line.acked()).toBe(0)
})

test('a long paste goes in pieces that the protocol takes, and loses nothing', async () => {
  const line = await opened()
  const paste = 'é'.repeat(TERMINAL_INPUT_BYTES_MAX)
  line.session.type(text(paste))
  expect(line.typed()).toBe(paste)
})

test('[B9] a broken connection is tried again with a new ticket, later each time, until it works', async () => {
  const line = await opened()
  line.break(1006)
  expect(line.state()).toEqual({ kind: 'waiting', retryAt: Date.now() + 300 })
  await vi.advanceTimersByTimeAsync(300)
  line.break(1006)
  expect(line.state()).toEqual({ kind: 'waiting', retryAt: Date.now() + 450 })
  await vi.advanceTimersByTimeAsync(450)
  expect(line.offered.map(([, ticket]) => ticket)).toEqual([
    'berth.ticket.t1',
    'berth.ticket.t2',
    'berth.ticket.t3',
  ])
  line.accept()
  line.break(1006)
  expect(line.state()).toEqual({ kind: 'waiting', retryAt: Date.now() + 300 })
})

test('what is typed without a shell is dropped, not kept for the next one', async () => {
  const line = await opened()
  line.break(1006)
  line.session.type(text('rm -rf build\r'))
  await vi.advanceTimersByTimeAsync(500)
  line.accept()
  expect(line.typed()).toBe('')
})

describe.each(Object.keys(TERMINAL_CLOSE) as TerminalEnd[])('[B9] an end by %s', reason => {
  test('is reconnected only where the protocol says so', async () => {
    const line = await opened()
    line.serve({ kind: 'exit', reason, code: 3 })
    line.break(TERMINAL_CLOSE[reason].code)
    await vi.advanceTimersByTimeAsync(60_000)
    if (TERMINAL_CLOSE[reason].reconnect) {
      expect(line.sockets.length).toBeGreaterThan(1)
    } else {
      expect(line.sockets).toHaveLength(1)
      expect(line.state()).toEqual({ kind: 'ended', reason, exitCode: 3 })
    }
  })
})

test('a ticket that is refused for good is not asked for again', async () => {
  const line = makeLine({
    ticket: () => Promise.reject(new Error('gone')),
    finalRefusal: () => 'It is gone.',
  })
  line.session.connect()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(line.state()).toEqual({ kind: 'refused', message: 'It is gone.' })
  expect(line.tickets()).toBe(1)
})

test('a ticket that could not be had now is asked for again', async () => {
  const line = makeLine({ ticket: () => Promise.reject(new Error('no network')), finalRefusal: () => null })
  line.session.connect()
  await vi.advanceTimersByTimeAsync(4_000)
  expect(line.tickets()).toBe(6)
})

test('a disposed session is silent: no socket, no timer, no state', async () => {
  const line = await opened()
  line.break(1006)
  line.session.dispose()
  const states = line.states.length
  await vi.advanceTimersByTimeAsync(60_000)
  expect(line.sockets).toHaveLength(1)
  expect(line.states).toHaveLength(states)
})

test('connecting anew leaves the socket before it', async () => {
  const line = await opened()
  line.session.connect()
  await vi.advanceTimersByTimeAsync(0)
  expect(line.sockets[0]?.closedWith).toBe(1000)
  expect(line.sockets).toHaveLength(2)
})

async function connected() {
  const line = makeLine({})
  line.session.connect()
  await vi.advanceTimersByTimeAsync(0)
  line.open()
  return line
}

/** A session whose shell has answered. */
async function opened() {
  const line = await connected()
  line.serve({ kind: 'replay_begin' }, { kind: 'replay_end' })
  line.renderAll()
  return line
}

class Line implements SessionSocket {
  readyState: SessionSocket['readyState'] = 0
  binaryType: BinaryType = 'blob'
  onopen: SessionSocket['onopen'] = null
  onmessage: SessionSocket['onmessage'] = null
  onclose: SessionSocket['onclose'] = null
  closedWith: number | undefined
  readonly frames: TerminalClientFrame[] = []

  send(data: Parameters<WebSocket['send']>[0]): void {
    const frame = data instanceof Uint8Array ? decodeClientFrame(data) : null
    if (!frame) throw new Error('Not a frame of the protocol.')
    this.frames.push(frame)
  }

  close(code?: number): void {
    this.closedWith = code
  }
}

/** A session on sockets and a screen that only move when the test says so. */
function makeLine(options: { ticket?: () => Promise<never>; finalRefusal?: () => string | null }) {
  const sockets: Line[] = []
  const offered: string[][] = []
  const states: TerminalState[] = []
  const waiting: { data: Uint8Array | string; done: () => void }[] = []
  let shown = ''
  let tickets = 0
  const session = createTerminalSession({
    screen: {
      write: (data, done) => void waiting.push({ data, done }),
      size: () => ({ cols: 80, rows: 24 }),
    },
    requestTicket: () => {
      tickets += 1
      return options.ticket?.() ?? Promise.resolve({ ticket: `t${tickets}`, path: '/terminal' })
    },
    finalRefusal: options.finalRefusal ?? (() => null),
    openSocket: (_path, protocols) => {
      const socket = new Line()
      sockets.push(socket)
      offered.push(protocols)
      return socket
    },
    onState: state => void states.push(state),
    random: () => 0.5,
  })
  const last = () => {
    const socket = sockets.at(-1)
    if (!socket) throw new Error('There is no socket yet.')
    return socket
  }
  const call = (handler: ((event: never) => unknown) | null, event: unknown) => handler?.(event as never)
  const line = {
    session,
    sockets,
    offered,
    states,
    state: () => states.at(-1),
    tickets: () => tickets,
    open() {
      last().readyState = 1
      call(last().onopen, {})
    },
    serve(...frames: TerminalServerFrame[]) {
      for (const frame of frames) call(last().onmessage, { data: encodeServerFrame(frame).buffer })
    },
    /** Opens the newest socket and lets its shell answer. */
    accept() {
      line.open()
      line.serve({ kind: 'replay_begin' }, { kind: 'replay_end' })
      line.renderAll()
    },
    break(code: number) {
      last().readyState = 3
      call(last().onclose, { code })
    },
    renderAll() {
      for (const { data, done } of waiting.splice(0)) {
        shown += typeof data === 'string' ? data : new TextDecoder().decode(data)
        done()
      }
    },
    rendered: () => shown,
    sent: () => last().frames,
    typed() {
      const bytes = last().frames.flatMap(frame => (frame.kind === 'input' ? [...frame.bytes] : []))
      return new TextDecoder().decode(Uint8Array.from(bytes))
    },
    acked: () => last().frames.reduce((sum, frame) => sum + (frame.kind === 'ack' ? frame.bytes : 0), 0),
  }
  return line
}

function output(content: string): TerminalServerFrame {
  return { kind: 'output', bytes: text(content) }
}

function text(content: string): Uint8Array {
  return new TextEncoder().encode(content)
}
