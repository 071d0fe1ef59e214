import { duplexPair, Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { asFailure, readAnswer } from '../../drivers/compute/port/answers.ts'
import { ComputeError } from '../../drivers/compute/port/compute-error.ts'
import type { RunOptions } from '../../drivers/compute/port/console.ts'
import { openProgram, type ProgramLineEnd } from '../../drivers/compute/port/program-line.ts'
import { serveProgram } from '../../drivers/compute/sessions/serve-program.ts'
import type { ChannelHandler } from '../../platform/gateways/channel-server.ts'
import { createMachineWays, type MachineWaysDeps, type ReachedEngine } from './machine-ways.ts'
import { createMachineTurns, PROCESS_CLOCKS } from './streams/machine-turns.ts'
import { STREAM_LIMITS } from './streams/stream-limits.ts'

const BYTES = 1_000_000

test('a program runs by the gateway that does not reach its machine: input, outputs, signals, size and end', async () => {
  const heard: unknown[] = []
  const near = waysOver((_, options) => {
    heard.push(options)
    return echo(heard)
  })
  const stream = await near.run('i-abcdefg', {
    command: 'a line',
    env: { LANG: 'x' },
    pty: { cols: 9, rows: 8 },
  })
  const out: Buffer[] = []
  const err: Buffer[] = []
  const ended = Promise.withResolvers<ProgramLineEnd>()
  const line = openProgram(stream, {
    onOutput: bytes => out.push(bytes),
    onErrors: bytes => err.push(bytes),
    onEnd: ended.resolve,
  })
  line.resize(132, 43)
  line.signal('USR1')
  line.write(Buffer.alloc(BYTES, 'x'), () => undefined)
  line.end()
  expect(await ended.promise).toEqual({ code: 7, signal: null, lost: false })
  expect(Buffer.concat(out)).toHaveLength(BYTES)
  expect(Buffer.concat(err).toString()).toBe('bye')
  expect(heard).toEqual([
    { command: 'a line', env: { LANG: 'x' }, pty: { cols: 9, rows: 8 } },
    [132, 43],
    'USR1',
  ])
})

test('what an engine refuses a program with comes over the hop as it is', async () => {
  const near = waysOver(() => Promise.reject(new ComputeError('exhausted', 'no more processes')))
  await expect(near.run('i-abcdefg', { command: null })).rejects.toMatchObject({ code: 'exhausted' })
})

test('[B5] whoever has a way into a machine uses it until that is closed, at the gateway that they came by alone', async () => {
  const held: string[] = []
  const near = waysOver(() => echo([]), {
    hold: id => {
      held.push(id)
      return () => void held.pop()
    },
  })
  const line = await near.run('i-abcdefg', { command: null })
  expect(held).toEqual(['i-abcdefg'])
  line.destroy()
  await expect.poll(() => held).toEqual([])
  // Who reads what it writes, or looks how it is, is not connected to it: it is idle on.
  const reads = await Promise.all([
    near.followLogs('i-abcdefg'),
    near.keptLog('i-abcdefg'),
    near.run('i-abcdefg', { command: null, isProbe: true }),
  ])
  expect(held).toEqual([])
  for (const read of reads) read.destroy()
})

/** Two gateways, of which the other one reaches the machine. */
function waysOver(
  run: (id: string, options: RunOptions) => ReturnType<typeof echo>,
  uses: MachineWaysDeps['uses'] = { hold: () => () => undefined },
) {
  const turns = createMachineTurns({ ...PROCESS_CLOCKS, limits: STREAM_LIMITS })
  const handlers: ChannelHandler[] = []
  const programs = {
    run: (id: string, { command, env, pty }: RunOptions) =>
      run(id, { command, ...(env && { env }), ...(pty && { pty }) }),
  }
  const observation = { followLogs: async () => Readable.from([]), keptLog: async () => Readable.from([]) }
  const engine = { console: { programs }, observation } as unknown as ReachedEngine
  createMachineWays({
    turns,
    uses,
    whereIs: async () => ({ at: 'here', engine }),
    gateways: {
      open: () => Promise.reject(new Error('one hop and no more')),
      serve: (_, handler) => void handlers.push(handler),
    },
  })
  return createMachineWays({
    turns,
    uses,
    whereIs: async () => ({ at: 'elsewhere', gatewayId: 'far' }),
    gateways: {
      serve: () => undefined,
      open: async (_id, _kind, asked) => {
        const [here, there] = duplexPair()
        void handlers[0]?.(JSON.parse(JSON.stringify(asked)), () => there)
        return here
      },
    },
  })
}

/** A program that gives back what it reads, and ends with its input. */
async function echo(heard: unknown[]) {
  const [line, far] = duplexPair()
  void serveProgram(
    far,
    events => ({
      write: data => {
        events.onData(Buffer.from(data))
        return true
      },
      end: () => {
        events.onStderr(Buffer.from('bye'))
        events.onEnd({ code: 7, signal: null })
      },
      resize: (...size) => void heard.push(size),
      signal: name => void heard.push(name),
      pause: () => undefined,
      resume: () => undefined,
      hangUp: () => undefined,
    }),
    asFailure,
  )
  await readAnswer(line, 30_000)
  return line
}
