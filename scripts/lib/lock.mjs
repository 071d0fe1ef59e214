import { linkSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

const POLL_MS = 250
// An install on a slow line takes minutes; a lock that is held longer than this is not an install any more.
const WAIT_MS_MAX = 15 * 60_000

/**
 * Runs the work while holding a lock file, so that two commands in one clone do not install over each other.
 * A lock whose process is gone is taken over.
 * @template T
 * @param {string} path The lock file.
 * @param {(pid: number) => void} onWait Called once when another process holds the lock.
 * @param {() => Promise<T>} work
 * @returns {Promise<T>} What the work gave.
 */
export async function withLock(path, onWait, work) {
  await acquire(path, onWait)
  try {
    return await work()
  } finally {
    unlinkSync(path)
  }
}

/**
 * @param {string} path
 * @param {(pid: number) => void} onWait
 */
async function acquire(path, onWait) {
  const deadline = Date.now() + WAIT_MS_MAX
  let told = false
  while (!claim(path)) {
    const holder = readHolder(path)
    if (holder === undefined) continue
    if (!isAlive(holder)) {
      removeStale(path, holder)
      continue
    }
    const pid = Number.parseInt(holder, 10)
    if (!told) onWait(pid)
    told = true
    if (Date.now() > deadline) {
      throw new Error(`Process ${pid} has held ${path} for too long. If it is not Berth, delete that file.`)
    }
    await delay(POLL_MS)
  }
}

/**
 * The file appears with its content in one step: a reader never sees it empty.
 * @param {string} path
 * @returns {boolean} Whether the lock is ours now.
 */
function claim(path) {
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, `${process.pid} ${processStart(process.pid) ?? ''}`.trim())
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw error
  } finally {
    unlinkSync(draft)
  }
}

/**
 * Two waiters may find the same dead holder. Each moves away whatever lies there now, and one that
 * caught the other's fresh lock puts it back.
 * @param {string} path
 * @param {string} deadHolder
 */
function removeStale(path, deadHolder) {
  const aside = `${path}.stale-${process.pid}`
  try {
    renameSync(path, aside)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return
    throw error
  }
  if (readFileSync(aside, 'utf8') === deadHolder) unlinkSync(aside)
  else renameSync(aside, path)
}

/** @param {string} path */
function readHolder(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

/**
 * A process id is used again after a while, so on Linux the start time has to match too.
 * @param {string} holder
 */
function isAlive(holder) {
  const [pidText = '', startedAt] = holder.split(' ')
  const pid = Number.parseInt(pidText, 10)
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (!hasCode(error, 'EPERM')) return false
  }
  const now = processStart(pid)
  return startedAt === undefined || now === undefined || now === startedAt
}

/**
 * @param {number} pid
 * @returns {string | undefined} When the process started, in the kernel's ticks; nothing outside Linux.
 */
function processStart(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name, in brackets, may hold spaces; the start time is the twentieth field after it.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return undefined
  }
}

/**
 * @param {unknown} error
 * @param {string} code
 */
function hasCode(error, code) {
  return error instanceof Error && 'code' in error && error.code === code
}
