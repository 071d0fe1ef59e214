/**
 * The agent: the program that runs as the first process's only child inside a sandbox and does there what
 * the gateway asks (see `frames.ts`). It runs with the customer's own rights and nothing more, so the gateway
 * trusts nothing that it says. It is started with these open files: 3 the listening socket, 4 the command log,
 * 6 the report of its command's end.
 */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { serveFlow } from '../../sessions/datagram-line.ts'
import { encodeJson, FRAME } from '../../sessions/frames.ts'
import { serveProgram } from '../../sessions/serve-program.ts'
import { createSessionHost } from '../../sessions/session-host.ts'
import { openUdpSocket } from '../../sessions/udp-socket.ts'
import { createCommandLog } from './command-log.ts'
import { reportCommandEnd } from './command-report.ts'
import { openProgram } from './open-program.ts'
import { openShell } from './open-shell.ts'
import { type CustomerProcess, customerProcesses, sumProcesses } from './processes.ts'
import { AGENT_PROTOCOL, type AgentMachine, type AgentRequest, type AgentStats } from './requests.ts'
import { runExec } from './run-exec.ts'
import { answer, createWatchers, fail, failureOf, joinPort, serveRequests } from './serve-requests.ts'
import { createStartCommand } from './start-command.ts'

const LISTEN_FD = 3
const LOG_FD = 4
const REPORT_FD = 6
const MACHINE_FILE = '/.berth/machine.json'
const HOME = '/root'
const STOP_POLL_MS = 20
const CONNECT_TIMEOUT_MS = 5_000
const DISK_FRESH_MS = 30_000
const DISK_WAIT_MS = 1_000

const machine = JSON.parse(readFileSync(MACHINE_FILE, 'utf8')) as AgentMachine
const log = createCommandLog(LOG_FD)
process.title = 'berth-agent'
process.on('uncaughtException', error => log(`berth: ${error.message}\n`))

/** The shells of this machine. They live here, so that they outlive a gateway as the machine does. */
const sessions = createSessionHost({
  open: ({ env, session: _, ...size }, events) =>
    openShell(size, { cwd: cwd(), env: environment() }, env, events),
  failureOf,
})

const watchers = createWatchers()

const startCommand = createStartCommand({
  machine,
  cwd: cwd(),
  env: environment(),
  log,
  onEnd: end => {
    reportCommandEnd(REPORT_FD, end)
    watchers.tell()
  },
  endMachine: code => process.exit(code),
})

serveRequests(LISTEN_FD, handle)

/** Nothing of the customer's runs before the gateway says so: until then whatever is said here is said by us. */
let waits = machine.command !== null

function handle(socket: Socket, request: AgentRequest): void {
  switch (request.op) {
    case 'hello':
      answer(socket, { protocol: AGENT_PROTOCOL, waits, programs: true })
      break
    case 'begin':
      begin()
      answer(socket, {})
      break
    case 'watch':
      watchers.add(socket)
      break
    case 'stats':
      readStats().then(stats => answer(socket, stats))
      break
    case 'stop':
      startCommand.leave()
      stopCustomer(request.grace_ms).then(() => answer(socket, {}))
      break
    case 'connect':
      openPort(socket, request.port)
      break
    case 'udp':
      openUdpSocket('127.0.0.1', request.port).then(
        flow => {
          socket.write(encodeJson(FRAME.ok, {}))
          serveFlow(flow, socket)
        },
        error => fail(socket, failureOf(error)),
      )
      break
    case 'exec':
      runExec(socket, request, { cwd: cwd(), env: environment() })
      break
    case 'run':
      serveProgram(
        socket,
        events => openProgram(request, { cwd: cwd(), env: environment() }, events),
        failureOf,
      )
      break
    case 'attach':
    case 'sessions':
    case 'close_session':
      sessions.serve(socket, request)
      break
  }
}

function environment(): Record<string, string> {
  return {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME,
    USER: 'root',
    LOGNAME: 'root',
    LANG: 'C.UTF-8',
    ...machine.env,
  }
}

/** Where programs begin, as long as the customer leaves it there. */
function cwd(): string {
  const wanted = machine.cwd ?? HOME
  return existsSync(wanted) ? wanted : '/'
}

function begin(): void {
  if (!waits) return
  waits = false
  if (machine.command) startCommand.run(machine.command)
}

/** Joins the caller's socket with a port of the machine, trying IPv4 first and then IPv6. */
function openPort(socket: Socket, port: number): void {
  const attempt = (host: string, otherwise: (message: string) => void) => {
    const target = connect({ host, port, noDelay: true, allowHalfOpen: true, timeout: CONNECT_TIMEOUT_MS })
    const refuse = (error: Error) => {
      target.destroy()
      otherwise(error.message)
    }
    target.once('error', refuse)
    target.once('timeout', () => refuse(new Error('no answer')))
    target.once('connect', () => {
      target.off('error', refuse)
      joinPort(socket, target)
    })
  }
  attempt('127.0.0.1', () => {
    attempt('::1', message => fail(socket, { code: 'port_closed', message }))
  })
}

/** Asks every process of the customer to end, and returns when all have or the grace is over. */
async function stopCustomer(graceMs: number): Promise<void> {
  const deadline = Date.now() + graceMs
  signalAll(customerProcesses(), 'SIGTERM')
  for (;;) {
    const left = customerProcesses()
    if (left.length === 0 || Date.now() >= deadline) return
    // Interactive shells ignore SIGTERM and obey SIGHUP. They get it only once nothing else is left, since
    // they pass it on to their jobs, which may still be busy with ending in good order.
    if (left.every(process => process.leads_terminal)) signalAll(left, 'SIGHUP')
    await new Promise(resolve => setTimeout(resolve, STOP_POLL_MS))
  }
}

function signalAll(processes: CustomerProcess[], signal: NodeJS.Signals): void {
  for (const { pid } of processes) {
    try {
      process.kill(pid, signal)
    } catch {
      // It ended by itself in the meantime.
    }
  }
}

async function readStats(): Promise<AgentStats> {
  const disk_bytes = await diskBytes()
  const { cpuMs, memoryBytes } = sumProcesses()
  return { cpu_ms: cpuMs, memory_bytes: memoryBytes, disk_bytes }
}

let disk: { bytes: number; at: number } | null = null
let measuring: Promise<void> | null = null

/** What the machine stores, as last measured; waits a little for the first measurement, null when it takes long. */
async function diskBytes(): Promise<number | null> {
  if (!disk || Date.now() - disk.at > DISK_FRESH_MS) {
    measuring ??= measureDisk().finally(() => {
      measuring = null
    })
    await Promise.race([measuring, new Promise(resolve => setTimeout(resolve, DISK_WAIT_MS))])
  }
  return disk?.bytes ?? null
}

async function measureDisk(): Promise<void> {
  const folder = machine.stores_in ?? HOME
  if (machine.own_disk) {
    const { bsize, blocks, bfree } = await statfs(folder)
    disk = { bytes: (blocks - bfree) * bsize, at: Date.now() }
    return
  }
  await new Promise<void>(resolve => {
    const du = spawn('du', ['-skx', folder], { stdio: ['ignore', 'pipe', 'ignore'] })
    let out = ''
    du.stdout.on('data', chunk => {
      out += chunk
    })
    du.on('error', () => resolve())
    du.on('close', () => {
      if (/^\d+/.test(out)) disk = { bytes: Number.parseInt(out, 10) * 1024, at: Date.now() }
      resolve()
    })
  })
}
