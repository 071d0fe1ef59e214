import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { overInherited } from '../inherited-files.ts'
import { ComputeError } from '../port/compute-error.ts'
import { AGENT_SOCKET, type AgentClient } from './agent-client.ts'
import { readTail } from './command-log-reader.ts'
import { identifyProcess } from './host-process.ts'
import type { Admission } from './limiter.ts'
import type { MachinePaths, ProcessIdentity } from './machine-store.ts'

/** File names in a machine's run folder. */
const INFO_FILE = 'info.json'
export const COMMAND_LOG = 'command.log'
const LAUNCH_LOG = 'launch.log'
export const COMMAND_REPORT = 'command-end'

/** Open files of the launched processes, as the launchers and the agent know them. */
export const INFO_FD = 5

const SOCKET_BACKLOG = 128

const LAUNCH_LOG_LINES_SHOWN = 20
const LAUNCH_LOG_CHARS_SHOWN = 600

/** Joins the control groups (as `$1`, one file a line), then becomes the launcher. */
const JOIN_SCRIPT = 'for file in $1; do echo $$ > "$file"; done; shift; exec "$@"'

/**
 * Starts a machine's processes and returns its first one when the agent answers. The processes are a session
 * of their own and outlive the gateway. The agent's listening socket is made here and inherited: its name is
 * never seen in the machine, so nobody in there can put another socket in its place, and the gateway may
 * connect at once instead of asking again and again whether it is there.
 */
export async function launchMachine(options: {
  paths: MachinePaths
  argv: string[]
  admission: Admission
  agent: AgentClient
  signal: AbortSignal
}): Promise<ProcessIdentity> {
  const { run } = options.paths
  rmSync(join(run, INFO_FILE), { force: true })
  const files: number[] = []
  const open = (name: string, flags: string | number) => {
    const fd = openSync(join(run, name), flags, 0o600)
    files.push(fd)
    return fd
  }
  let server: Server | null = null
  let child: ChildProcess
  try {
    server = await listenForAgent(run)
    const out = open(LAUNCH_LOG, 'w')
    const nothing = openSync('/dev/null', 'r+')
    files.push(nothing)
    const argv = withAdmission(options.argv, options.admission)
    const [file = '', ...args] = argv
    child = spawn(file, args, {
      cwd: '/',
      env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', ...options.admission.env },
      detached: true,
      stdio: overInherited(
        [
          'ignore',
          out,
          out,
          fdOf(server),
          open(COMMAND_LOG, constants.O_RDWR | constants.O_CREAT),
          open(INFO_FILE, 'w'),
          open(COMMAND_REPORT, 'w'),
        ],
        nothing,
      ),
    })
  } finally {
    server?.close()
    for (const fd of files) closeSync(fd)
  }

  const failed = new Promise<never>((_, reject) => {
    child.once('error', cause => reject(toComputeError(cause)))
    child.once('exit', () => launchFailure(run).then(reject))
    options.signal.addEventListener('abort', () => reject(abortedError(options.signal)), { once: true })
  })
  failed.catch(() => undefined)
  try {
    await Promise.race([answered(options.agent, failed), failed])
    const first = readFirstProcess(run)
    if (!first) throw await launchFailure(run)
    child.unref()
    return first
  } catch (error) {
    killGroup(child)
    throw error
  }
}

/** Who the launcher said is the machine's first process, if that still lives. */
export function readFirstProcess(run: string): ProcessIdentity | null {
  try {
    const info = JSON.parse(readFileSync(join(run, INFO_FILE), 'utf8')) as { 'child-pid'?: unknown }
    const pid = info['child-pid']
    return typeof pid === 'number' ? identifyProcess(pid) : null
  } catch {
    return null
  }
}

/** Turns an error of the file system or of starting a process into the port's own. */
export function toComputeError(error: unknown): ComputeError {
  if (error instanceof ComputeError) return error
  return new ComputeError(codeOf(error), error instanceof Error ? error.message : String(error), {
    cause: error,
  })
}

/** The error for a call that its caller gave up. */
export function abortedError(signal: AbortSignal): ComputeError {
  return new ComputeError('failed', 'the call was given up', { cause: signal.reason })
}

/** Fails when the caller gives up, as that call's error. */
export function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const giveUp = () => reject(abortedError(signal))
    if (signal.aborted) giveUp()
    else signal.addEventListener('abort', giveUp, { once: true })
  })
}

/** Ends all that was launched: until the machine runs, everything is in the launcher's own process group. */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // It ended by itself in the meantime.
  }
}

/** The agent's refusal to talk means that the launcher is on its way out; its own message says more. */
async function answered(agent: AgentClient, failed: Promise<never>): Promise<void> {
  try {
    await agent.hello()
  } catch (error) {
    if (error instanceof ComputeError && error.code === 'not_running') await failed
    throw error
  }
}

/** Listens under another name first, since closing our copy removes the name that it was given. */
async function listenForAgent(run: string): Promise<Server> {
  const dir = openSync(run, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    const server = createServer()
    rmSync(join(run, `${AGENT_SOCKET}.new`), { force: true })
    server.listen({ path: `/proc/self/fd/${dir}/${AGENT_SOCKET}.new`, backlog: SOCKET_BACKLOG })
    await once(server, 'listening')
    renameSync(join(run, `${AGENT_SOCKET}.new`), join(run, AGENT_SOCKET))
    return server
  } finally {
    closeSync(dir)
  }
}

/** Node has no public way to hand a listening socket to a child that is not Node. The tests would notice. */
function fdOf(server: Server): number {
  return (server as unknown as { _handle: { fd: number } })._handle.fd
}

/** What joins a machine's limits and then runs the launcher. */
export function withAdmission(argv: string[], admission: Admission): string[] {
  const prefixed = [...admission.argv_prefix, ...argv]
  if (admission.join_files.length === 0) return prefixed
  return ['/bin/sh', '-c', JOIN_SCRIPT, 'berth', admission.join_files.join('\n'), ...prefixed]
}

/** What the launcher said at last; the agent may have gone on writing there. */
async function launchFailure(run: string): Promise<ComputeError> {
  const tail = await readTail(join(run, LAUNCH_LOG), LAUNCH_LOG_LINES_SHOWN)
  const said = tail.slice(-LAUNCH_LOG_CHARS_SHOWN).trim()
  return new ComputeError(codeOf(said), `the machine did not start${said ? `: ${said}` : ''}`)
}

function codeOf(cause: unknown): 'exhausted' | 'no_room' | 'failed' {
  const said = String(cause)
  if (/ENOSPC|EDQUOT|No space left/.test(said)) return 'no_room'
  const isShort = /EAGAIN|ENOMEM|EMFILE|ENFILE|Cannot allocate|Cannot fork|temporarily unavailable/.test(said)
  return isShort ? 'exhausted' : 'failed'
}
