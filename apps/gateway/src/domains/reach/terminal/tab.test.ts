import { Duplex } from 'node:stream'
import { encodeServerFrame } from '@berth/contract/terminal'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { encodeFrame, FRAME } from '../../../drivers/compute/sessions/frames.ts'
import { joinTab } from './tab.ts'
import { TERMINAL_LIMITS } from './terminal-limits.ts'
import type { TerminalSocket, TerminalSocketEvents } from './terminal-socket.ts'

const FRAMES = 1_000_000

test.each([FRAME.replay_begin, FRAME.replay_end])(
  'a machine that floods with frames of type %i fills nothing while the tab takes nothing',
  async type => {
    const flood = Buffer.concat(Array(FRAMES).fill(encodeFrame(type, Buffer.alloc(0))))
    const stream = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() })
    stream.push(flood)
    let held = 0
    const tab = join(stream, {
      get bytesHeld() {
        return held
      },
      send: frame => {
        held += encodeServerFrame(frame).length
      },
    })
    await expect.poll(() => held).toBeGreaterThan(TERMINAL_LIMITS.heldHighBytes)
    expect(held).toBeLessThan(TERMINAL_LIMITS.heldHighBytes + 1_000)
    tab.end('stopped')
  },
)

test.each<[string, (events: TerminalSocketEvents, at: number) => void]>([
  ['signs of life', events => events.onAck(0)],
  ['sizes', (events, at) => events.onResize(80 + (at % 2), 24)],
  ['single characters', events => events.onInput(Buffer.from('x'))],
])('a tab that floods with %s is not read while the machine takes nothing', async (_what, send) => {
  const waiting: (() => void)[] = []
  let isTaking = false
  const stream = new Duplex({
    read: () => undefined,
    write: (_chunk, _encoding, done) => {
      if (isTaking) done()
      else waiting.push(done)
    },
  })
  let events: TerminalSocketEvents | null = null
  let isHeld = false
  const tab = join(stream, {
    listen: listener => {
      events = listener
    },
    holdInput: held => {
      isHeld = held
    },
  })
  await expect.poll(() => stream.listenerCount('data')).toBeGreaterThan(0)
  let sent = 0
  for (; !isHeld && sent < 100_000; sent++) if (events) send(events, sent)
  expect(isHeld).toBe(true)
  // Each takes far more memory than its bytes.
  expect(sent).toBeLessThan(TERMINAL_LIMITS.inputWaitingBytesMax / 200)
  isTaking = true
  waiting.pop()?.()
  await expect.poll(() => isHeld).toBe(false)
  tab.end('stopped')
})

function join(stream: Duplex, socket: Partial<TerminalSocket>) {
  const quiet: TerminalSocket = {
    sessionId: 'session',
    bytesHeld: 0,
    listen: () => undefined,
    send: () => undefined,
    holdInput: () => undefined,
    end: () => undefined,
    checkLife: () => undefined,
  }
  return joinTab({
    userId: 'anna',
    instanceId: 'one',
    session: 1,
    socket: Object.defineProperties(quiet, Object.getOwnPropertyDescriptors(socket)),
    size: { cols: 80, rows: 24 },
    attach: async () => stream,
    stillRuns: async () => true,
    limits: TERMINAL_LIMITS,
    log: pino({ level: 'silent' }),
    onEnd: () => undefined,
  })
}
