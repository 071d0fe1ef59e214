import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { root } from '../lib/paths.mjs'

// After its own exit a command's pipes may be held open by a stray grandchild; nothing more is worth waiting for.
const DRAIN_MS = 1000
const STOP_GRACE_MS = 10_000

/** How a command of a stage runs. */
export interface CommandOptions {
  /** Folder to run in; the root when left out. */
  cwd?: string
  env?: Record<string, string>
  /** After this long the command and all its children are stopped, and it has failed. */
  timeoutMinutes: number
  /** Pass the output on as it comes, instead of only keeping it. */
  live: boolean
}

/** How a command ended. */
export interface CommandResult {
  ok: boolean
  /** Both of its streams, in the order they came. */
  output: string
}

const running = new Set<ChildProcess>()

/**
 * Runs one command in a process group of its own, so that nothing of it outlives the stage.
 * @returns Never rejects: a command that cannot start has failed, and its output says why.
 */
export async function runCommand(
  file: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  const color = process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}
  const child = spawn(file, args, {
    cwd: options.cwd ?? root,
    env: { ...process.env, ...color, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  running.add(child)
  const chunks: string[] = []
  const take = (chunk: Buffer) => {
    chunks.push(chunk.toString())
    if (options.live) process.stdout.write(chunk)
  }
  child.stdout.on('data', take)
  child.stderr.on('data', take)
  const closed = new Promise<void>(resolve => child.once('close', () => resolve()))
  const timer = setTimeout(() => {
    take(Buffer.from(`\nStopped: it took longer than ${options.timeoutMinutes} minutes.\n`))
    void stopGroup(child)
  }, options.timeoutMinutes * 60_000)
  const ok = await ended(child, take)
  clearTimeout(timer)
  await Promise.race([closed, delay(DRAIN_MS)])
  signalGroup(child, 'SIGKILL')
  running.delete(child)
  return { ok, output: chunks.join('') }
}

/** Stops the commands that run now, with all their children. */
export async function stopRunningCommands(): Promise<void> {
  await Promise.all([...running].map(stopGroup))
}

function ended(child: ChildProcess, take: (chunk: Buffer) => void): Promise<boolean> {
  return new Promise(resolve => {
    child.once('error', error => {
      take(Buffer.from(`${error.message}\n`))
      resolve(false)
    })
    child.once('exit', code => resolve(code === 0))
  })
}

async function stopGroup(child: ChildProcess): Promise<void> {
  const exited = new Promise<void>(resolve => child.once('exit', () => resolve()))
  if (child.exitCode !== null || child.signalCode !== null) return
  signalGroup(child, 'SIGTERM')
  await Promise.race([exited, delay(STOP_GRACE_MS)])
  signalGroup(child, 'SIGKILL')
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, signal)
  } catch {
    // The group has ended, which is what was wanted.
  }
}
