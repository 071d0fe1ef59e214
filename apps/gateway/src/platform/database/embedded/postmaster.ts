import { execFile } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

const POLL_MS = 50
/** A fast shutdown writes what is in memory; after that an immediate one loses nothing either, but must recover. */
const FAST_STOP_MS = 30_000
const IMMEDIATE_STOP_MS = 10_000

/**
 * Gets a server that a killed gateway left behind out of the way: one that runs on this very folder is stopped
 * cleanly. A lock file that names a process which is something else by now is removed; one that names no process
 * is left to PostgreSQL, which then also checks for remains in shared memory. Foreign processes are never
 * touched.
 * @param dataFolder The server's folder.
 * @param socketFile Its socket; the lock file lies beside it.
 * @returns Whether a server was stopped.
 */
export async function clearLeftover(dataFolder: string, socketFile: string): Promise<boolean> {
  let stopped = false
  for (const lockFile of [join(dataFolder, 'postmaster.pid'), `${socketFile}.lock`]) {
    const pid = await readPid(lockFile)
    if (pid === null || !isAlive(pid)) continue
    if (await isServerOf(pid, dataFolder)) {
      await stopServer(pid)
      stopped = true
    } else {
      await rm(lockFile, { force: true })
    }
  }
  return stopped
}

/**
 * Stops a server: a fast shutdown (SIGINT), then an immediate one (SIGQUIT), which loses nothing either.
 * @throws Error when it still runs after both.
 */
export async function stopServer(pid: number): Promise<void> {
  for (const [signal, patience] of [
    ['SIGINT', FAST_STOP_MS],
    ['SIGQUIT', IMMEDIATE_STOP_MS],
  ] as const) {
    if (!sendSignal(pid, signal) || (await waitForEnd(pid, patience))) return
  }
  throw new Error(`PostgreSQL (process ${pid}) does not stop.`)
}

async function readPid(file: string): Promise<number | null> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const pid = Number.parseInt(text, 10)
  return pid > 0 ? pid : null
}

async function isServerOf(pid: number, dataFolder: string): Promise<boolean> {
  const args = await commandLine(pid)
  return args.includes('postgres') && args.includes(dataFolder)
}

async function commandLine(pid: number): Promise<string> {
  try {
    return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ')
  } catch {
    // Not Linux, or gone.
    return run('ps', ['-o', 'command=', '-p', String(pid)]).then(
      ({ stdout }) => stdout,
      () => '',
    )
  }
}

async function waitForEnd(pid: number, patienceMs: number): Promise<boolean> {
  for (let waited = 0; waited < patienceMs; waited += POLL_MS) {
    if (await hasEnded(pid)) return true
    await new Promise(resolve => setTimeout(resolve, POLL_MS))
  }
  return hasEnded(pid)
}

/**
 * Whether a process does nothing any more. One that a killed gateway left behind stays in the process table until
 * the system's first process collects it, which in a container may be late or never.
 */
async function hasEnded(pid: number): Promise<boolean> {
  if (!isAlive(pid)) return true
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return /^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2))
}

function isAlive(pid: number): boolean {
  return sendSignal(pid, 0)
}

/** False when there is no such process. */
function sendSignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    // Somebody else's process: it lives, and is not ours to stop.
    if (signal === 0) return true
    throw error
  }
}
