// What others feel of a machine that attacks the gateway: the health call's times and the gateway's memory, while the
// flood goes through the gateway and while the same flood runs beside it on the same processors.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { getConnection } from '@berth/contract/instances'
import { Pool } from 'undici'
import { startChildServer, threadMs } from './lib/child-server.ts'
import { printFigure, quantile } from './lib/figures.ts'
import { type GatewayProcess, startGatewayProcess } from './lib/gateway-process.ts'

const MEASURE_MS = 4_000
const WARM_UP_MS = 1_000
const PAUSE_MS = 5
const ANSWER_MS = 10_000
const AIM_P99_MS = 50
const MB = 1024 * 1024

interface Attack {
  what: string
  /** What the machine is asked for; null for its TCP port. */
  path: string | null
  connections: number
  /** Whether the clients take what comes. */
  reads: boolean
}

const ATTACKS: Attack[] = [
  { what: 'endless 100 Continue, 8 requests', path: '/continue', connections: 8, reads: true },
  { what: 'one-byte chunks, 40 clients that read nothing', path: '/chunks', connections: 40, reads: false },
  { what: 'one-byte chunks, 200 clients that read nothing', path: '/chunks', connections: 200, reads: false },
  { what: 'one-byte chunks, 40 clients that read', path: '/chunks', connections: 40, reads: true },
  { what: 'single bytes over 40 WebSockets that read nothing', path: '/drip', connections: 40, reads: false },
  { what: 'single bytes over 40 TCP connections', path: null, connections: 40, reads: true },
  { what: 'a plain flood, 40 clients that read', path: '/bulk', connections: 40, reads: true },
]

process.once('SIGINT', () => process.exit(1))
const only = process.argv[2]
const gateway = await startGatewayProcess()
const pool = new Pool(gateway.origin, { connections: 1, bodyTimeout: ANSWER_MS, headersTimeout: ANSWER_MS })
try {
  const script = readFileSync(join(import.meta.dirname, 'hostile-machine.ts'), 'utf8')
  const id = await deploy(gateway, script)
  const { http, tcp } = await gateway.call(getConnection, { params: { id } })
  await measure(WARM_UP_MS)
  for (const attack of ATTACKS) {
    if (only && !attack.what.includes(only)) continue
    const host = new URL(http[0]?.url ?? '').host
    const port = attack.path === null ? (tcp[0]?.public_port ?? 0) : Number(new URL(gateway.origin).port)
    await compare(attack.what, () => startClients(attack, port, host))
  }
  if (!only || 'empty frames'.includes(only)) await compareAgent(id, script)
} finally {
  await pool.close()
  await gateway.stop()
}

/** The machine's own agent, taken over; the gateway has several reasons at a time to talk to it. */
async function compareAgent(before: string, script: string): Promise<void> {
  await gateway.terminate(before)
  const id = await deploy(gateway, script, { TAKE_AGENT: '1' })
  await compare('empty frames from the agent’s socket, 8 calls at a time', async () => {
    let stopped = false
    const ask = async () => {
      while (!stopped) await gateway.call(getConnection, { params: { id } }).catch(() => undefined)
    }
    for (let each = 0; each < 8; each++) void ask()
    return async () => {
      stopped = true
    }
  })
}

/** @returns The way to stop them. */
async function startClients(attack: Attack, port: number, host: string): Promise<() => Promise<void>> {
  const argv = [port, host, attack.path ?? '', attack.connections, attack.reads ? 'reads' : '']
  const clients = await startChildServer('bench/hostile-clients.ts', /ready/, {}, argv.map(String))
  return clients.stop
}

/** A flood past the gateway, which takes the processors' time and nothing of the gateway's own. */
async function startBeside(): Promise<() => Promise<void>> {
  const server = await startChildServer('bench/hostile-machine.ts', /on (\d+)/, { PORTS: '0' }, [])
  const flood = { what: 'beside', path: '/bulk', connections: 40, reads: true }
  const stopClients = await startClients(flood, Number(server.ready[1]), 'localhost')
  return async () => {
    await stopClients()
    await server.stop()
  }
}

async function compare(what: string, attack: () => Promise<() => Promise<void>>): Promise<void> {
  const quiet = await measure(MEASURE_MS)
  const beside = await during(startBeside)
  const under = await during(attack)
  printFigure({
    what,
    ours: show(under),
    bare: `${show(beside)}; at rest ${show(quiet)}`,
    compared: `p99 ${(under.p99 - beside.p99).toFixed(1)} ms more, ${((under.memoryBytes - beside.memoryBytes) / MB).toFixed(0)} MB more`,
    aim: { says: `p99 within ${AIM_P99_MS} ms`, met: under.p99 - beside.p99 < AIM_P99_MS },
  })
}

async function during(attack: () => Promise<() => Promise<void>>): Promise<Measured> {
  const stop = await attack()
  await measure(WARM_UP_MS)
  const under = await measure(MEASURE_MS)
  await stop()
  await measure(WARM_UP_MS)
  return under
}

interface Measured {
  p50: number
  p99: number
  /** The most that the gateway's process held. */
  memoryBytes: number
  /** The part of the time that its thread worked. */
  busy: number
}

function show({ p50, p99, memoryBytes, busy }: Measured): string {
  return `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, ${(memoryBytes / MB).toFixed(0)} MB, ${(busy * 100).toFixed(0)} % busy`
}

/** Asks for the gateway's health, one call after the other. */
async function measure(forMs: number): Promise<Measured> {
  const took: number[] = []
  let memoryBytes = 0
  const { pid } = gateway.server
  const startedAt = performance.now()
  const workedBefore = threadMs(pid)
  while (performance.now() - startedAt < forMs) {
    const askedAt = performance.now()
    await pool
      .request({ method: 'GET', path: '/gateway/health' })
      .then(({ body }) => body.dump())
      .catch(() => undefined)
    took.push(performance.now() - askedAt)
    memoryBytes = Math.max(memoryBytes, memoryOf(pid))
    await new Promise(resolve => setTimeout(resolve, PAUSE_MS))
  }
  const busy = (threadMs(pid) - workedBefore) / (performance.now() - startedAt)
  return { p50: quantile(took, 0.5), p99: quantile(took, 0.99), memoryBytes, busy }
}

function memoryOf(pid: number): number {
  const [, kilobytes = '0'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}

async function deploy(
  { deploy: start, until }: GatewayProcess,
  script: string,
  env: Record<string, string> = {},
): Promise<string> {
  const id = await start({
    http_ports: [8000],
    tcp_ports: [8001],
    env: { SCRIPT: script, ...env },
    start_command: 'printf %s "$SCRIPT" > hostile.ts; exec /.berth/node hostile.ts',
  })
  await until(id, 'running')
  return id
}
