import { Duplex } from 'node:stream'
import { encodeServerFrame } from '@berth/contract/terminal'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { encodeFrame, FRAME } from '../../../drivers/compute/sessions/frames.ts'
import { joinTab } from './tab.ts'
import { TERMINAL_LIMITS } from './terminal-limits.ts'

const FRAMES = 1_000_000

test.each([FRAME.replay_begin, FRAME.replay_end])(
  'a machine that floods with frames of type %i fills nothing while the tab takes nothing',
  async type => {
    const flood = Buffer.concat(Array(FRAMES).fill(encodeFrame(type, Buffer.alloc(0))))
    const stream = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() })
    stream.push(flood)
    let held = 0
    const tab = joinTab({
      userId: 'anna',
      instanceId: 'one',
      socket: {
        sessionId: 'session',
        get bytesHeld() {
          return held
        },
        listen: () => undefined,
        send: frame => {
          held += encodeServerFrame(frame).length
        },
        holdInput: () => undefined,
        end: () => undefined,
        checkLife: () => undefined,
      },
      size: { cols: 80, rows: 24 },
      attach: async () => stream,
      stillRuns: async () => true,
      limits: TERMINAL_LIMITS,
      log: pino({ level: 'silent' }),
      onEnd: () => undefined,
    })
    await expect.poll(() => held).toBeGreaterThan(TERMINAL_LIMITS.heldHighBytes)
    expect(held).toBeLessThan(TERMINAL_LIMITS.heldHighBytes + 1_000)
    tab.end('stopped')
  },
)
