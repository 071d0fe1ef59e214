import { type Duplex, duplexPair, PassThrough } from 'node:stream'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { ComputeError, type ComputeErrorCode } from '../../../drivers/compute/port/compute-error.ts'
import { encodeFrame, encodeJson, FRAME } from '../../../drivers/compute/sessions/frames.ts'
import { systemClock } from '../../../platform/clock.ts'
import type { InstanceRow } from '../../instances/rows.ts'
import { createMachineWays, type ReachedEngine } from '../machine-ways.ts'
import { lineOf } from '../ssh/started-program.ts'
import { createMachineTurns, PROCESS_CLOCKS } from '../streams/machine-turns.ts'
import { STREAM_LIMITS } from '../streams/stream-limits.ts'
import { createDoctor, type DoctorDeps } from './doctor.ts'
import { parseListeners, readListeners } from './listeners.ts'

// Goal: what no real machine does at will. Method: the doctor over ways that answer as the test says.

const TARGET = { userId: 'anna', instanceId: 'i-abcdefg' }
const PIECE_BYTES = 64 * 1024

const refused = (code: ComputeErrorCode) => () => Promise.reject(new ComputeError(code, 'no'))

function doctorOf(
  ways: DoctorDeps['ways'],
  row: Partial<InstanceRow> = {},
  others: Partial<DoctorDeps> = {},
) {
  const found = {
    id: TARGET.instanceId,
    userId: TARGET.userId,
    status: 'running',
    httpPorts: [80],
    tcpPorts: [],
    udpPorts: [],
    commandEnd: null,
    terminatedAt: null,
    ...row,
  } as unknown as InstanceRow
  return createDoctor({
    clock: systemClock,
    log: pino({ level: 'silent' }),
    instances: { findOwnEver: async () => found },
    ways,
    seenTcp: () => 'not_offered',
    ownWays: async () => null,
    ssh: null,
    ...others,
  })
}

/** Gives the codes of what it finds. */
function doctorOver(...args: Parameters<typeof doctorOf>) {
  const doctor = doctorOf(...args)
  return async () => (await doctor.diagnose(TARGET)).findings.map(({ code }) => code)
}

test.each<[ComputeErrorCode, string[]]>([
  ['engine_unavailable', ['engine_unreached', 'ssh_not_offered']],
  ['exhausted', ['machine_full', 'ssh_not_offered']],
  ['not_running', ['instance_stopped', 'ssh_not_offered']],
  ['failed', ['ssh_not_offered', 'shell_unsure', 'port_unsure']],
])('[B8] a machine that cannot be talked to for %s is told once, before all else', async (code, told) => {
  expect(await doctorOver({ run: refused(code), connect: refused(code) })()).toEqual(told)
})

test.each<[ComputeErrorCode, string]>([
  ['outdated', 'machine_outdated'],
  ['no_shell', 'shell_missing'],
])('[B8] a machine without programs for %s still has its ports tried', async (code, told) => {
  const diagnose = doctorOver({ run: refused(code), connect: refused('port_closed') })
  expect(await diagnose()).toEqual(['ssh_not_offered', told, 'port_silent'])
})

test.each([
  ['restarting', 'instance_starting'],
  ['error', 'instance_failed'],
  ['unknown', 'engine_unreached'],
] as const)('[B8] nothing is asked of a machine that is %s', async (status, told) => {
  const never = () => Promise.reject(new Error('it was asked'))
  expect(await doctorOver({ run: never, connect: never }, { status })()).toEqual([told, 'ssh_not_offered'])
})

test('[B8] a direct port that customers do not reach is said to be none', async () => {
  const ways = { run: refused('no_shell'), connect: async () => new PassThrough() }
  const diagnose = doctorOver(ways, { httpPorts: [], tcpPorts: [22] })
  expect(await diagnose()).toEqual(['ssh_not_offered', 'shell_missing', 'tcp_not_offered'])
})

test('[B8] of datagrams nothing is said for sure where no shell tells what listens', async () => {
  const ways = { run: refused('no_shell'), connect: async () => new PassThrough() }
  const diagnose = doctorOver(ways, { httpPorts: [], udpPorts: [53] })
  expect(await diagnose()).toEqual(['ssh_not_offered', 'shell_missing', 'udp_unsure'])
})

test.each([
  ['taken', 'address_port_taken'],
  ['not_permitted', 'address_port_denied'],
  ['no_gateway', 'address_away'],
] as const)(
  '[B8] a port that is %s at the address of an instance is said instead of what listens',
  async (trouble, told) => {
    const ways = { run: refused('no_shell'), connect: async () => new PassThrough() }
    const way = { host: '203.0.113.7', port: 22, public_port: 22, trouble }
    const diagnose = doctorOver(
      ways,
      { httpPorts: [], tcpPorts: [22] },
      { seenTcp: () => null, ownWays: async () => ({ tcp: [way], udp: [] }) },
    )
    expect(await diagnose()).toEqual(['ssh_not_offered', 'shell_missing', told])
  },
)

test('whoever asks while a diagnosis is under way gets the same one', async () => {
  let connections = 0
  const answer = Promise.withResolvers<Duplex>()
  const connect = () => {
    connections++
    return answer.promise
  }
  const diagnose = doctorOver({ run: refused('no_shell'), connect })
  const all = [diagnose(), diagnose(), diagnose()]
  answer.reject(new ComputeError('port_closed', 'no'))
  expect(new Set((await Promise.all(all)).map(String)).size).toBe(1)
  expect(connections).toBe(1)
  await diagnose()
  expect(connections).toBe(2)
})

test('a service whose head never ends is no HTTP, and a machine that lists ports without an end is left', async () => {
  const service = endless(Buffer.from(`HTTP/1.1 200 OK\r\nA: ${'x'.repeat(PIECE_BYTES)}`))
  const program = endless(Buffer.alloc(PIECE_BYTES, '0100007F:1F90\n'), true)
  const ways = { run: async () => program, connect: async () => service }
  expect(await doctorOver(ways)()).toEqual([
    'ssh_not_offered',
    'shell_works',
    'http_foreign',
    'port_undeclared',
  ])
  expect([program.destroyed, service.destroyed]).toEqual([true, true])
})

test('places are read as the kernel writes them, and nothing else is one', async () => {
  const text = [
    '0100007F:1F90',
    '0100007F:1F90',
    '00000000:0016',
    '00000000000000000000000000000000:0050',
    '00000000000000000000000001000000:0051',
    '0000000000000000FFFF00000100007F:0052',
    'B80D01200000000000000000010000AB:0053',
    '0100007F:0000',
    '0100007f:1F90',
    'u0100007F:0035',
    'uu0100007F:0036',
    'x0100007F:1F90',
    '\u001b[31m0100007F:1F90',
    'rm -rf /',
  ].join('\n')
  expect(parseListeners(text)).toEqual([
    { protocol: 'tcp', address: '127.0.0.1', port: 8080 },
    { protocol: 'tcp', address: '0.0.0.0', port: 22 },
    { protocol: 'tcp', address: '::', port: 80 },
    { protocol: 'tcp', address: '::1', port: 81 },
    { protocol: 'tcp', address: '127.0.0.1', port: 82 },
    { protocol: 'tcp', address: '2001:db8::ab00:1', port: 83 },
    { protocol: 'udp', address: '127.0.0.1', port: 53 },
  ])
  const [near, far] = duplexPair()
  const told = readListeners(lineOf(near), { listenersBytesMax: 100 }, AbortSignal.abort())
  expect(await told).toEqual([])
  expect(near.destroyed).toBe(true)
  far.destroy()
})

test('[B8] [B5] whoever asks what is wrong uses nothing by that: the machine is idle on', async () => {
  const held: string[] = []
  const asked: string[] = []
  const engine = {
    network: {
      connect: async () => {
        asked.push('connect')
        return new PassThrough()
      },
    },
    console: {
      programs: {
        run: async () => {
          asked.push('run')
          return endless(Buffer.alloc(PIECE_BYTES, '0100007F:1F90\n'), true)
        },
      },
    },
  } as unknown as ReachedEngine
  const ways = createMachineWays({
    turns: createMachineTurns({ ...PROCESS_CLOCKS, limits: STREAM_LIMITS }),
    uses: {
      hold: id => {
        held.push(id)
        return () => undefined
      },
    },
    whereIs: async () => ({ at: 'here', engine }),
    gateways: { open: () => Promise.reject(new Error('it is here')), serve: () => undefined },
  })
  await doctorOver(ways, { httpPorts: [], tcpPorts: [22] })()
  expect(asked.toSorted()).toEqual(['connect', 'run'])
  expect(held).toEqual([])
})

test('[B8] ports that nobody declared are named, but for those that programs take for themselves', async () => {
  // 8080 and 32768, of which the kernel gives from 32768 on to whoever asks for any.
  const listing = Buffer.from('0100007F:1F90\n0100007F:8000\n')
  const [near, far] = duplexPair()
  far.resume()
  far.write(encodeFrame(FRAME.data, listing))
  far.end(encodeJson(FRAME.exit, { code: 0, signal: null }))
  const ways = { run: async () => near, connect: refused('port_closed') }
  const { diagnose } = doctorOf(ways, { httpPorts: [] })
  const { findings } = await diagnose(TARGET)
  expect(findings.find(({ code }) => code === 'port_undeclared')?.values).toEqual({ ports: '8080' })
})

/** A stream out of a machine that says the same for ever. @param inFrames As the output of a program. */
function endless(bytes: Buffer, inFrames = false): Duplex {
  const [near, far] = duplexPair()
  far.on('error', () => undefined).resume()
  const piece = inFrames ? encodeFrame(FRAME.data, bytes) : bytes
  const more = () => {
    while (!near.destroyed && far.write(piece));
  }
  far.on('drain', more)
  more()
  return near
}
