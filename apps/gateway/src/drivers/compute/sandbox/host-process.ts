import { readFileSync } from 'node:fs'
import type { ProcessIdentity } from './machine-store.ts'

const POLL_MS = 5

/** Names the process that has this id now; null when there is none, or only what is left of a dead one. */
export function identifyProcess(pid: number): ProcessIdentity | null {
  const fields = liveStatFields(pid)
  const start = Number(fields?.[19])
  return Number.isFinite(start) ? { pid, start_ticks: start, boot_id: bootId() } : null
}

/** Whether exactly this process still lives, rather than another that got its id. */
export function isAlive(identity: ProcessIdentity): boolean {
  const now = identifyProcess(identity.pid)
  return now !== null && now.start_ticks === identity.start_ticks && now.boot_id === identity.boot_id
}

/** Kills the process, if it is still the one that was meant, and waits until it is gone. */
export async function killProcess(identity: ProcessIdentity, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs
  while (isAlive(identity)) {
    try {
      process.kill(identity.pid, 'SIGKILL')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
    if (Date.now() > deadline) return false
    await new Promise(resolve => setTimeout(resolve, POLL_MS))
  }
  return true
}

/** Fields of /proc/<pid>/stat after the name: index 0 is the state, index 19 the start time. */
function liveStatFields(pid: number): string[] | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? null : fields
  } catch {
    return null
  }
}

let cachedBootId: string | null = null

function bootId(): string {
  cachedBootId ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  return cachedBootId
}
