import { execFileSync } from 'node:child_process'
import { linkSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makePrivateFolder } from './data-dir.ts'

/** The folder is in use by another gateway. */
class DataDirInUse extends Error {
  constructor(dataDir: string, pid: number) {
    super(
      `Another gateway (process ${pid}) uses ${dataDir}. Stop it, or give this one a folder of its own with ` +
        'BERTH_DATA_DIR.',
    )
    this.name = 'DataDirInUse'
  }
}

const FILE_NAME = 'gateway.lock'
const TRIES = 5
const GATEWAY_ID = /^[0-9a-f-]{36}$/

/** A data folder that is this process's own. */
interface DataDirLock {
  /** The gateway that had the folder before and died in it; null where it left in good order. */
  formerGatewayId: string | null
  release(): void
}

/**
 * Takes the data folder for this process. A lock that a killed gateway left behind is recognised by its process: an
 * id alone says nothing, since ids are used again, so the lock also holds when the process began.
 * @param gatewayId By what the other gateways know this one.
 * @throws DataDirInUse
 */
export function lockDataDir(dataDir: string, gatewayId: string): DataDirLock {
  makePrivateFolder(dataDir)
  const file = join(dataDir, FILE_NAME)
  const draft = `${file}.${process.pid}`
  const mine = `${process.pid} ${startOf(process.pid)}\n${gatewayId}\n`
  let formerGatewayId: string | null = null
  writeFileSync(draft, mine, { mode: 0o600 })
  try {
    for (let tries = 0; tries < TRIES; tries++) {
      if (tryLink(draft, file)) return { formerGatewayId, release: () => release(file, mine) }
      formerGatewayId = removeIfStale(dataDir, file) ?? formerGatewayId
    }
  } finally {
    rmSync(draft, { force: true })
  }
  throw new Error(`${file} cannot be taken: it changes all the time.`)
}

function tryLink(draft: string, file: string): boolean {
  try {
    linkSync(draft, file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** @returns The dead gateway whose lock this was; null when there was none, or one of a version that did not name it. */
function removeIfStale(dataDir: string, file: string): string | null {
  const seen = read(file)
  if (seen === null) return null
  const [owner = '', gatewayId] = seen.split('\n')
  const [pid = 0, start = ''] = [Number.parseInt(owner, 10), owner.split(' ').slice(1).join(' ')]
  if (pid > 0 && startOf(pid) === start && start !== '') throw new DataDirInUse(dataDir, pid)
  // Moved aside before it is removed: if somebody else took over in between, theirs is put back.
  const aside = `${file}.stale.${process.pid}`
  try {
    renameSync(file, aside)
  } catch {
    return null
  }
  const isSame = read(aside) === seen
  if (!isSame) tryLink(aside, file)
  unlinkSync(aside)
  return isSame && gatewayId && GATEWAY_ID.test(gatewayId) ? gatewayId : null
}

function release(file: string, mine: string): void {
  if (read(file) === mine) rmSync(file, { force: true })
}

function read(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}

/** When a process began, in this boot; empty when there is none. */
function startOf(pid: number): string {
  const stat = read(`/proc/${pid}/stat`)
  if (stat !== null) {
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // A killed process that nobody collected yet is still listed, but does nothing any more.
    if (fields[0] === 'Z' || fields[0] === 'X') return ''
    const boot = read('/proc/sys/kernel/random/boot_id')?.trim() ?? ''
    return `${boot}/${fields[19]}`
  }
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim()
  } catch {
    return ''
  }
}
