import { randomBytes } from 'node:crypto'
import { linkSync, lstatSync, mkdirSync, renameSync, rmdirSync, rmSync } from 'node:fs'
import { connect, type Server, type Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { readAnswer } from '../port/answers.ts'
import { ComputeError } from '../port/compute-error.ts'
import { encodeJson, FRAME } from '../sessions/frames.ts'
import { KEEPER_LOG, KEEPER_SOCKET, type KeeperRequest } from './keeper-words.ts'

/** How long the one before may take to answer, or to be gone. */
const TAKE_TIMEOUT_MS = 5_000
const TAKE_POLL_MS = 25

/** What a question means whose keeper ended before it answered. */
export const KEEPER_GONE = {
  code: 'engine_unavailable',
  message: 'the keeper of terminals went away',
} as const

/** Whether a question failed because the keeper ended, so that it may be put to the next one. */
export function isKeeperGone(error: unknown): boolean {
  return (
    error instanceof ComputeError && error.code === KEEPER_GONE.code && error.message === KEEPER_GONE.message
  )
}

/** A connection to the keeper of a folder; null when none listens. */
export function connectToKeeper(folder: string): Promise<Socket | null> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path: join(folder, KEEPER_SOCKET), allowHalfOpen: true })
    const onError = (error: NodeJS.ErrnoException) => {
      socket.destroy()
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') resolve(null)
      else reject(new ComputeError('failed', `the keeper of terminals: ${error.message}`, { cause: error }))
    }
    socket.once('error', onError)
    socket.once('connect', () => {
      socket.off('error', onError)
      resolve(socket)
    })
  })
}

/** The name that keepers are found by, held by this process. */
export interface KeeperName {
  /** Gives the name up, and the folder with it unless somebody begins there at the moment. */
  release(): void
}

/**
 * Takes the name that the keeper of a folder is found by. The folder is its user's alone, so nobody else can take the
 * name first. The socket listens under a name of its own before it gets the one that is looked for, so that what is
 * found there and refuses connections is dead, and is replaced.
 * @param folder Made where it is not there.
 * @param makeServer What is to listen; made anew for each try.
 * @returns Null when another keeper has the name, and answers.
 */
export async function takeKeeperName(folder: string, makeServer: () => Server): Promise<KeeperName | null> {
  const name = join(folder, KEEPER_SOCKET)
  const deadline = performance.now() + TAKE_TIMEOUT_MS
  for (;;) {
    const draft = join(folder, randomBytes(4).toString('hex'))
    const server = makeServer()
    const problem = await listenAndLink(server, draft, name)
    if (problem === null) {
      const own = identityOf(name)
      return { release: () => release(folder, own) }
    }
    server.close()
    if (problem.code === 'EEXIST' && (await isAnswered(folder))) return null
    // ENOENT: the keeper before took the folder along.
    const isPassing = problem.code === 'EEXIST' || problem.code === 'ENOENT'
    if (!isPassing || performance.now() > deadline) throw problem
    await new Promise(resolve => setTimeout(resolve, TAKE_POLL_MS))
  }
}

/** @returns Why it could not be done; null when it was. */
async function listenAndLink(
  server: Server,
  draft: string,
  name: string,
): Promise<NodeJS.ErrnoException | null> {
  try {
    mkdirSync(dirname(name), { recursive: true, mode: 0o700 })
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ path: draft }, resolve)
    })
    linkSync(draft, name)
    rmSync(draft, { force: true })
    return null
  } catch (error) {
    return error as NodeJS.ErrnoException
  }
}

/**
 * Whether a keeper answers under the name; one that does not listen any more loses it. An answer, and not only a
 * connection: one that is about to end takes connections until it does, and one that answers stays for a while.
 */
async function isAnswered(folder: string): Promise<boolean> {
  const name = join(folder, KEEPER_SOCKET)
  const seen = identityOf(name)
  const socket = await connectToKeeper(folder)
  if (!socket) {
    if (seen !== null && identityOf(name) === seen) removeStale(name, seen)
    return false
  }
  try {
    const request: KeeperRequest = { op: 'sessions', machine: 'none' }
    socket.write(encodeJson(FRAME.request, request))
    await readAnswer(socket, TAKE_TIMEOUT_MS, KEEPER_GONE)
    return true
  } catch (error) {
    if (isKeeperGone(error)) return false
    throw error
  } finally {
    socket.destroy()
  }
}

/**
 * Takes a dead keeper's name away. Moved aside before it is removed: if somebody took over at the very moment, theirs is
 * put back. If yet another one was quicker, theirs has held nothing so far, is asked by nobody, and ends.
 */
function removeStale(name: string, seen: string): void {
  const aside = join(dirname(name), randomBytes(4).toString('hex'))
  try {
    renameSync(name, aside)
    if (identityOf(aside) !== seen) linkSync(aside, name)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT' && code !== 'EEXIST') throw error
  }
  rmSync(aside, { force: true })
}

function release(folder: string, own: string | null): void {
  const name = join(folder, KEEPER_SOCKET)
  if (identityOf(name) !== own) return
  rmSync(name, { force: true })
  rmSync(join(folder, KEEPER_LOG), { force: true })
  try {
    rmdirSync(folder)
  } catch {
    // Another one begins there.
  }
}

/** What tells a file from another one that has its number after it; null when there is none. */
function identityOf(path: string): string | null {
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  return stat ? `${stat.ino} ${stat.mtimeNs}` : null
}
