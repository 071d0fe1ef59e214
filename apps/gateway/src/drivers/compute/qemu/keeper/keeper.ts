/**
 * The keeper of a virtual machine: runs beside its hypervisor, within the same walls and with the same rights, which are
 * none. It has the only way to it, and does there what the gateway asks, in the words that agents of sandboxes know. It
 * is started with the same open files: 3 the listening socket, 4 the log, 6 the report of the command's end.
 */
import { spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { GUEST_SSH } from '../../port/guest-access.ts'
import { SERIAL_SESSION } from '../../port/serial-session.ts'
import { createCommandLog } from '../../sandbox/agent/command-log.ts'
import { reportCommandEnd } from '../../sandbox/agent/command-report.ts'
import { sumProcesses } from '../../sandbox/agent/processes.ts'
import { AGENT_PROTOCOL, type AgentRequest, type AgentStats } from '../../sandbox/agent/requests.ts'
import {
  answer,
  createWatchers,
  fail,
  failureOf,
  joinPort,
  serveRequests,
} from '../../sandbox/agent/serve-requests.ts'
import { serveFlow } from '../../sessions/datagram-line.ts'
import { encodeJson, type Failure, FRAME } from '../../sessions/frames.ts'
import { serveProgram } from '../../sessions/serve-program.ts'
import { createSessionHost } from '../../sessions/session-host.ts'
import { createGuestAgent } from './guest-agent.ts'
import { createGuestPorts } from './guest-ports.ts'
import { createGuestPrograms, guestFailureOf } from './guest-programs.ts'
import { readGuestReport } from './guest-report.ts'
import { GUEST_ACCESS_FILE, GUEST_AGENT_DEVICE, HYPERVISOR_FDS, type KeeperOrders } from './keeper-orders.ts'
import { openGuestShell, openInGuest } from './open-in-guest.ts'
import { openQmp } from './qmp.ts'
import { runInGuest } from './run-in-guest.ts'
import { createSerialLine } from './serial-line.ts'
import { reportTrouble } from './trouble-report.ts'
import { readyDisk } from './vm-disk.ts'

/**
 * What the gateway asks of a keeper beside what it asks of agents: the serial line, as it is, from after `ok` on; and what
 * the guest says of itself, `null` where it has no agent.
 */
export type KeeperRequest = AgentRequest | { op: 'serial' } | { op: 'guest' }

const LISTEN_FD = 3
const LOG_FD = 4
const REPORT_FD = 6
const BLOCK_BYTES = 512
const MS_PER_S = 1_000
/** A guest that boots hears no power button yet, so it is pressed again. */
const PRESS_AGAIN_MS = 2_000
const POWER_OFF_GRACE_MS = 20_000
/** How long an agent is waited for before the button is pressed as well. */
const AGENT_FIRST_MS = 1_000
/** How long a guest that does not shut down has to write what it has not yet written, at most half of its grace. */
const FREEZE_MS = 5_000
/** What hypervisors say at their end. */
const SAID_CHARS_MAX = 2_000
/** An end is told to those who wait for it before the keeper goes. */
const LAST_WORDS_MS = 50

const orders = JSON.parse(process.argv[2] ?? '') as KeeperOrders
const log = createCommandLog(LOG_FD)
process.title = 'berth-keeper'
process.on('uncaughtException', error => log(`berth: ${error.message}\n`))

await readyDisk(orders)
const [program = '', ...args] = orders.hypervisor
const hypervisor = spawn(program, args, {
  stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
})
let said = ''
hypervisor.stderr?.on('data', chunk => {
  said = `${said}${chunk}`.slice(-SAID_CHARS_MAX)
})
const ended = new Promise<void>(resolve => {
  hypervisor.once('error', error => {
    said += error.message
    resolve()
  })
  hypervisor.once('close', () => resolve())
})
ended.then(async () => {
  if (said.trim() !== '') process.stderr.write(`${said.trim()}\n`)
  await sleep(LAST_WORDS_MS)
  process.exit()
})

const way = (fd: number) => hypervisor.stdio[fd] as Duplex
const serial = createSerialLine(way(HYPERVISOR_FDS.serial), chunk => {
  heard()
  log(chunk)
})
const watchers = createWatchers()
/** Ends when the guest has been silent for too long. */
let silence: NodeJS.Timeout | null = null
let isSilent = false
let isEnding = false
readGuestReport(way(HYPERVISOR_FDS.report), {
  onEnd: end => {
    heard()
    log(`berth: the start command ended with code ${end.code}\n`)
    reportCommandEnd(REPORT_FD, end)
    watchers.tell()
    if (orders.on_command_end !== 'stop' || isEnding) return
    // A guest may say so again and again.
    isEnding = true
    void powerOff(POWER_OFF_GRACE_MS).then(quit)
  },
  onSetupFailed: why => {
    heard()
    log(`berth: preparing the guest failed: ${why}\n`)
    reportTrouble(REPORT_FD, { code: 'guest_unprepared', words: why })
    watchers.tell()
  },
})

/** The line is shown as a shell is: it outlives whoever looks at it, and a gateway. Shells in the guest do so, too. */
const sessions = createSessionHost({
  open: ({ session, ...size }, events) =>
    session === SERIAL_SESSION ? serial.open(events) : openGuestShell(programs, size, events),
  failureOf: failureIn,
})

const guest = createGuestAgent(way(HYPERVISOR_FDS.guest_agent))
const qmp = await openQmp(way(HYPERVISOR_FDS.monitor), (name, data) => {
  if (name === 'VSERPORT_CHANGE' && data.id === GUEST_AGENT_DEVICE) guest.setOpen(data.open === true)
})
const ports = createGuestPorts(qmp)
const programs = createGuestPrograms({
  connect: () => ports.open(GUEST_SSH.port),
  accessFile: GUEST_ACCESS_FILE,
})
let waits = true
serveRequests(LISTEN_FD, handle)

function handle(socket: Socket, request: KeeperRequest): void {
  const tell = (work: Promise<unknown>) => {
    work.then(value => answer(socket, value ?? {})).catch(error => fail(socket, failureOf(error)))
  }
  switch (request.op) {
    case 'hello':
      answer(socket, { protocol: AGENT_PROTOCOL, waits, programs: true })
      break
    case 'begin':
      tell(begin())
      break
    case 'watch':
      watchers.add(socket)
      break
    case 'stats':
      answer(socket, readStats())
      break
    case 'stop':
      tell(waits ? Promise.resolve() : powerOff(request.grace_ms))
      break
    case 'connect':
      void openPort(socket, request.port)
      break
    case 'guest':
      tell(guest.facts().then(facts => ({ facts })))
      break
    case 'serial':
      socket.write(encodeJson(FRAME.ok, {}))
      serial.join(socket)
      break
    case 'udp':
      ports.openUdp(request.port).then(
        flow => {
          socket.write(encodeJson(FRAME.ok, {}))
          serveFlow(flow, socket)
        },
        error => fail(socket, failureOf(error)),
      )
      break
    case 'exec':
      void runInGuest(socket, request, programs, failureIn)
      break
    case 'run': {
      const { command: what, env, pty } = request
      void serveProgram(socket, events => openInGuest(programs, { what, env, pty }, events), failureIn)
      break
    }
    case 'attach':
    case 'sessions':
    case 'close_session':
      sessions.serve(socket, request)
      break
  }
}

/** An error in the words that gateways know, also where the guest does not let in. */
function failureIn(error: unknown): Failure {
  return guestFailureOf(error) ?? failureOf(error)
}

/** Lets the processors go. */
async function begin(): Promise<void> {
  if (!waits) return
  waits = false
  silence = setTimeout(() => {
    isSilent = true
    const words = `nothing on its serial line for ${orders.silentMs / MS_PER_S} s`
    log(`berth: the guest has said ${words}: it may not boot\n`)
    reportTrouble(REPORT_FD, { code: 'guest_silent', words })
    watchers.tell()
  }, orders.silentMs)
  await qmp.execute('cont')
}

/** The guest has said something, which is a sign of life. */
function heard(): void {
  if (silence) clearTimeout(silence)
  silence = null
  if (!isSilent) return
  isSilent = false
  reportTrouble(REPORT_FD, null)
  watchers.tell()
}

/**
 * Asks the guest to shut down, and returns when the machine is off or the grace is over: by its agent where it has one,
 * and by its power button. A guest that has not heard has what its programs wrote on its disk before it loses its power.
 */
async function powerOff(graceMs: number): Promise<void> {
  const freezeMs = guest.isThere() ? Math.min(FREEZE_MS, graceMs / 2) : 0
  const over = AbortSignal.timeout(graceMs - freezeMs)
  const isOff = () => {
    const pause = sleep(PRESS_AGAIN_MS, undefined, { signal: over }).catch(() => undefined)
    return Promise.race([ended.then(() => true), pause.then(() => false)])
  }
  const isAsked = await Promise.race([guest.shutDown(), sleep(AGENT_FIRST_MS, false)])
  if (isAsked && (await isOff())) return
  while (!over.aborted) {
    await qmp.execute('system_powerdown')
    if (await isOff()) return
  }
  await Promise.race([ended, guest.freeze(), sleep(freezeMs)])
}

async function quit(): Promise<void> {
  await qmp.execute('quit')
}

async function openPort(socket: Socket, port: number): Promise<void> {
  try {
    const target = await ports.open(port)
    if (target) joinPort(socket, target)
    else fail(socket, { code: 'port_closed', message: `nothing listens on ${port}` })
  } catch (error) {
    fail(socket, failureOf(error))
  }
}

function readStats(): AgentStats {
  const { cpuMs, memoryBytes } = sumProcesses()
  return {
    cpu_ms: cpuMs,
    memory_bytes: memoryBytes,
    disk_bytes: statSync(orders.disk.path).blocks * BLOCK_BYTES,
  }
}
