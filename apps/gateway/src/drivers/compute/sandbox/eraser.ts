import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { createAtOnce } from '../../../platform/at-once.ts'
import { ComputeError } from '../port/compute-error.ts'
import { ENTERED_MODE, giveTo, moveOf, overFilesOf, usersFrom } from './machine-users.ts'

/** Folders that are erased at the same time: running machines need the disk more. */
const ERASURES_MAX = 2
/** After so long a folder that is not gone waits for its next turn, so that a large one holds up no small one. */
const FIRST_TURN_MS = 10_000
/** Each turn is twice as long as the one before, up to this: what only finding the deepest folder takes is got over. */
const LONGEST_TURN_MS = 600_000
const TURNS_MAX = 10
/** Memory of an erasing process, which grows with how deep folders lie: a million of them take some 300 MB. */
const MEMORY_KB_MAX = 1024 * 1024
const COMPLAINT_BYTES_MAX = 300

/**
 * Erases all that lies in the current folder, whose entries have names of ours. `rm` goes from folder to folder by
 * open files, so that no path is too long, and follows no link. Only what it was refused is given its owner's rights
 * back: customers may take them off their own folders. What it says at last is kept short here: it may say it of
 * every file.
 */
const ERASE_SCRIPT = `
ulimit -v ${MEMORY_KB_MAX}
rm -rf -- ./* 2>/dev/null && exit
chmod -R u+rwx -- ./* >/dev/null 2>&1
rm -rf -- ./* 2>&1 | head -c ${COMPLAINT_BYTES_MAX}
`

/**
 * Erases what customers stored, outside of this process: a machine may leave millions of files, or folders nested
 * deeper than a path is long.
 */
export function createEraser(log: Logger) {
  const underWay = new Map<string, Promise<void>>()
  const inTurn = createAtOnce(ERASURES_MAX)
  const children = new Set<ChildProcess>()
  let stop = new AbortController()

  /** One turn of erasing what lies in `going`. Gives what was said of what stays; null where the turn was cut. */
  async function turn(going: string, uid: number | null, turnMs: number): Promise<string | null> {
    const isMany = uid !== null && usersFrom(uid) > 1
    const words = ['nice', '-n', '10', ...(isMany ? overFilesOf(uid) : []), '/bin/sh', '-c', ERASE_SCRIPT]
    const [file = '', ...args] = words
    const child = spawn(file, args, {
      // Entered before the process becomes that user, who could not come here by itself.
      cwd: going,
      ...(uid === null || isMany ? {} : { uid, gid: uid }),
      env: { PATH: '/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C' },
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    children.add(child)
    const timer = setTimeout(() => killGroup(child), turnMs)
    let said = ''
    child.stdout.on('data', chunk => {
      said += chunk
    })
    try {
      const [code] = await once(child, 'close')
      return code === null ? null : said.trim()
    } catch (error) {
      // It did not start. Where the folder is gone meanwhile, that is why.
      return (error as Error).message
    } finally {
      clearTimeout(timer)
      children.delete(child)
    }
  }

  async function eraseInTurns(folder: string, uid: number | null): Promise<void> {
    const stopped = stop.signal
    const going = await setAside(folder, uid)
    if (going === null) return
    let turnMs = FIRST_TURN_MS
    for (let turns = 0; turns < TURNS_MAX && !stopped.aborted; turns++) {
      const said = await inTurn(async () => (stopped.aborted ? null : turn(going, uid, turnMs)))
      turnMs = Math.min(turnMs * 2, LONGEST_TURN_MS)
      if (said === null) continue
      if (await isGone(going)) return
      log.error({ folder: going, said }, 'what a customer stored cannot be erased; see to it by hand')
      throw new ComputeError('failed', `what it stored cannot be erased${said ? `: ${said}` : ''}`)
    }
    if (stopped.aborted)
      throw new ComputeError('failed', 'the gateway ended before all that it stored was erased')
    log.error(
      { folder: going },
      'what a customer stored is too much to erase in the time there is; see to it',
    )
    throw new ComputeError('failed', 'it stored more than can be erased in the time there is')
  }

  return {
    /**
     * Erases a folder and all that is in it. Returns when it is gone, or was not there. Asked twice, it is done once.
     * @param folder Its name is given by the gateway, and everything above it is the gateway's own.
     * @param uid Who owns all of it, and erases it: the first of its users, where they are a range; null for the gateway's
     * own user.
     * @throws ComputeError `failed` with what stands in the way; another call then goes on with the rest.
     */
    erase(folder: string, uid: number | null): Promise<void> {
      const before = underWay.get(folder)
      if (before) return before
      const erasing = eraseInTurns(folder, uid).finally(() => underWay.delete(folder))
      underWay.set(folder, erasing)
      return erasing
    },
    /** Ends what is under way. What is left is erased when that is asked for again. */
    async close(): Promise<void> {
      stop.abort()
      stop = new AbortController()
      for (const child of children) killGroup(child)
      await Promise.allSettled(underWay.values())
    },
  }
}

export type Eraser = ReturnType<typeof createEraser>

/** Where what is to be erased lies meanwhile, beside the folder itself. */
export function goingOf(folder: string): string {
  return `${folder}.going`
}

/**
 * Moves a folder into one that its owner may erase it from. Gives that one; null where there is nothing to erase,
 * neither now nor from a time before.
 */
async function setAside(folder: string, uid: number | null): Promise<string | null> {
  const going = goingOf(folder)
  await mkdir(going, { recursive: true, mode: ENTERED_MODE })
  await moveOf(uid, folder, join(going, randomBytes(8).toString('hex'))).catch(error => {
    if (error.code !== 'ENOENT') throw error
  })
  // Only then: nobody but root puts anything into a folder of somebody else's.
  await giveTo(uid, [going])
  return (await isGone(going)) ? null : going
}

/** Removes a folder if it is empty. False where something is left in it. */
async function isGone(folder: string): Promise<boolean> {
  try {
    await rmdir(folder)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return true
    if (code === 'ENOTEMPTY' || code === 'EEXIST') return false
    throw error
  }
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It ended by itself in the meantime.
  }
}
