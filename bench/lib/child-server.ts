import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'

const PROJECT_DIR = resolve(import.meta.dirname, '../..')

const START_MS = 120_000
/** Linux counts a process's time in these, whatever its kernel was built with. */
const TICKS_PER_SECOND = 100

/** A server under measurement, in a process of its own. */
export interface ChildServer {
  pid: number
  /** What it wrote to its output when it was ready, as matched. */
  ready: RegExpExecArray
  stop(): Promise<void>
}

/**
 * Starts a file that Node runs and waits until its output matches.
 * @param file Relative to the project's folder.
 * @param argv Its arguments, where it takes any. It is in a session of its own then, whose priority it may lower.
 * @param flags Node's.
 * @throws Error with what it wrote when it ends or takes too long.
 */
export async function startChildServer(
  file: string,
  ready: RegExp,
  env: Record<string, string>,
  argv: readonly string[] | null = null,
  flags: readonly string[] = [],
): Promise<ChildServer> {
  const child = spawn(process.execPath, [...flags, resolve(PROJECT_DIR, file), ...(argv ?? [])], {
    cwd: PROJECT_DIR,
    env: { ...process.env, NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: argv !== null,
  })
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill('SIGTERM')
    await exit
  }
  const atExit = () => child.kill('SIGTERM')
  process.once('exit', atExit)
  child.once('exit', () => process.off('exit', atExit))
  try {
    const match = await outputOf(child, ready, file)
    return { pid: child.pid ?? 0, ready: match, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function outputOf(child: ChildProcess, ready: RegExp, file: string): Promise<RegExpExecArray> {
  return new Promise((resolvePromise, reject) => {
    let written = ''
    const fail = (why: string) => reject(new Error(`${file} ${why}:\n${written}`))
    const timer = setTimeout(() => fail('was not ready in time'), START_MS)
    const take = (chunk: Buffer) => {
      written = (written + chunk.toString()).slice(-20_000)
      const match = ready.exec(written)
      if (!match) return
      clearTimeout(timer)
      resolvePromise(match)
    }
    child.stdout?.on('data', take)
    child.stderr?.on('data', take)
    child.once('exit', code => {
      clearTimeout(timer)
      fail(`ended with ${code}`)
    })
  })
}

/** A process and all that come from it. Linux only. */
export function processTree(root: number): number[] {
  const children = Map.groupBy(
    readdirSync('/proc')
      .map(Number)
      .filter(Number.isInteger)
      .map(statOf)
      .filter(stat => stat !== null),
    stat => stat.parent,
  )
  const tree = [root]
  for (const pid of tree) tree.push(...(children.get(pid) ?? []).map(stat => stat.pid))
  return tree
}

/**
 * The processor time that a process has taken so far, all its threads, in seconds. Linux only.
 * @param pid Of a process on this machine.
 */
export function cpuSeconds(pid: number): number {
  return statOf(pid)?.cpuSeconds ?? 0
}

/**
 * The time that a process's first thread has worked so far, in milliseconds, waiting for a processor left out. Linux only.
 * @param pid Of a process on this machine that runs.
 */
export function threadMs(pid: number): number {
  const [nanoseconds] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')
  return Number(nanoseconds) / 1e6
}

/** Null when the process has ended. */
function statOf(pid: number): { pid: number; parent: number; cpuSeconds: number } | null {
  let stat: string
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return null
  }
  // The name in brackets may hold spaces. After it: state, parent, and as 12th and 13th user and system time.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = Number(fields[11]) + Number(fields[12])
  return { pid, parent: Number(fields[1]), cpuSeconds: ticks / TICKS_PER_SECOND }
}
