import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { closeSync, lstatSync, mkdirSync, openSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { QUICK_IMPORTS } from '../../../platform/quick-imports.ts'
import { overInherited } from '../inherited-files.ts'
import { readAnswer } from '../port/answers.ts'
import { ComputeError } from '../port/compute-error.ts'
import { encodeJson, FRAME } from '../sessions/frames.ts'
import { connectToKeeper, isKeeperGone, KEEPER_GONE } from './keeper-name.ts'
import {
  KEEPER_LOG,
  KEEPER_PROTOCOL,
  type KeeperPlan,
  type KeeperRequest,
  type KeptPlace,
} from './keeper-words.ts'

const KEEPER_SCRIPT = join(import.meta.dirname, 'terminal-keeper.ts')
/** Opening a shell may wait for a busy engine. */
const ANSWER_TIMEOUT_MS = 30_000
const START_TIMEOUT_MS = 20_000
const START_POLL_MS = 25
const LOG_TRIES_MAX = 5
const LINGER_MS = 15_000

/** The way to the keeper of an engine's terminals on this computer, whichever gateway started it. */
export interface KeeperClient {
  /** Where a keeper has its socket, for as long as it is there. */
  readonly folder: string
  /**
   * Asks the keeper, and starts it where there is none. For `attach` the socket then is the line.
   * @throws ComputeError What the keeper says went wrong; `failed` when none can be started.
   */
  ask(request: KeeperRequest): Promise<{ answer: unknown; socket: Socket }>
  /** Asks the keeper if there is one. Null: there is none, so it holds nothing. */
  askIfThere(request: KeeperRequest): Promise<{ answer: unknown; socket: Socket } | null>
}

/**
 * @param options.engine What tells the engine and its installation from every other: gateways with the same share a
 *   keeper.
 * @param options.place How the engine is reached.
 * @param options.lingerMs How long a keeper that is started here stays when it holds nothing.
 */
export function createKeeperClient(options: {
  engine: string
  place: KeptPlace
  lingerMs?: number
}): KeeperClient {
  const digest = createHash('sha256')
    .update(`${options.engine}/${KEEPER_PROTOCOL}`)
    .digest('hex')
    .slice(0, 16)
  const folder = join(runtimeFolder(), `terminals-${digest}`)
  let starting: Promise<Socket> | null = null

  async function start(): Promise<Socket> {
    startKeeper({ folder, place: options.place, linger_ms: options.lingerMs ?? LINGER_MS })
    const deadline = Date.now() + START_TIMEOUT_MS
    for (;;) {
      const socket = await connectToKeeper(folder)
      if (socket) return socket
      if (Date.now() > deadline) {
        const log = join(folder, KEEPER_LOG)
        throw new ComputeError('failed', `the keeper of terminals does not come up; see ${log}`)
      }
      await new Promise(resolve => setTimeout(resolve, START_POLL_MS))
    }
  }

  /** One start at a time; each caller has a socket of its own. */
  async function openOrStart(): Promise<Socket> {
    const there = await connectToKeeper(folder)
    if (there) return there
    if (starting) {
      await starting
      return openOrStart()
    }
    starting = start()
    try {
      return await starting
    } finally {
      starting = null
    }
  }

  async function talk(socket: Socket, request: KeeperRequest): Promise<{ answer: unknown; socket: Socket }> {
    socket.write(encodeJson(FRAME.request, request))
    return { answer: await readAnswer(socket, ANSWER_TIMEOUT_MS, KEEPER_GONE), socket }
  }

  return {
    folder,
    ask: async request => {
      try {
        return await talk(await openOrStart(), request)
      } catch (error) {
        if (!isKeeperGone(error)) throw error
        // It ended at the very moment, having held nothing.
        return talk(await openOrStart(), request)
      }
    },
    askIfThere: async request => {
      const socket = await connectToKeeper(folder)
      if (!socket) return null
      try {
        return await talk(socket, request)
      } catch (error) {
        if (isKeeperGone(error)) return null
        throw error
      }
    },
  }
}

function startKeeper(plan: KeeperPlan): void {
  const log = openLog(plan.folder)
  const nothing = openSync('/dev/null', 'r+')
  try {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', KEEPER_SCRIPT], {
      cwd: '/',
      // Nothing of the gateway's own settings, which hold secrets.
      env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', ...QUICK_IMPORTS },
      detached: true,
      stdio: overInherited(['pipe', log, log], nothing),
    })
    child.on('error', () => undefined)
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(JSON.stringify(plan))
    child.unref()
  } finally {
    closeSync(log)
    closeSync(nothing)
  }
}

/** The log of the next keeper's start, in its folder, which the one before may be taking away at the moment. */
function openLog(folder: string): number {
  for (let tries = 1; ; tries++) {
    try {
      return openSync(join(makePrivate(folder), KEEPER_LOG), 'w', 0o600)
    } catch (error) {
      if (tries === LOG_TRIES_MAX || (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
}

function userId(): number {
  return process.getuid?.() ?? 0
}

/** Where processes of this user leave their sockets, for as long as the computer runs. */
function runtimeFolder(): string {
  const places = userId() === 0 ? ['/run'] : [`/run/user/${userId()}`]
  for (const place of places) {
    try {
      return makePrivate(join(place, 'berth'))
    } catch {
      // Not here: another system, or nobody who has logged in.
    }
  }
  return makePrivate(join(tmpdir(), `berth-${userId()}`))
}

/**
 * Makes a folder that only this user may enter.
 * @returns Its path.
 * @throws ComputeError `failed` when somebody else has made it.
 */
function makePrivate(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  const { uid, mode } = lstatSync(path)
  const isOurs = lstatSync(path).isDirectory() && uid === userId() && (mode & 0o077) === 0
  if (!isOurs) throw new ComputeError('failed', `${path} is not a folder of this user alone`)
  return path
}
