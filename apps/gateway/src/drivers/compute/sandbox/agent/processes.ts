import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

/** Linux counts process time in these; it has been 100 a second on every architecture that Node runs on. */
const CLOCK_TICKS_PER_SECOND = 100
const PAGE_BYTES = 4096

/** How readily the kernel should pick the customer's processes, not the agent, when memory is used up. */
const CUSTOMER_OOM_SCORE = '500'

export interface ProcessSum {
  cpuMs: number
  memoryBytes: number
}

/** Adds up the processor time and resident memory of every process in the machine. */
export function sumProcesses(): ProcessSum {
  const sum: ProcessSum = { cpuMs: 0, memoryBytes: 0 }
  for (const pid of processIds()) {
    const fields = statFields(pid)
    if (!fields) continue
    // utime, stime, and those of children that are gone, so that the sum does not fall when a child ends.
    const ticks = [11, 12, 13, 14].reduce((total, at) => total + Number(fields[at] ?? 0), 0)
    sum.cpuMs += (ticks * 1000) / CLOCK_TICKS_PER_SECOND
    sum.memoryBytes += Number(fields[21] ?? 0) * PAGE_BYTES
  }
  return sum
}

export interface CustomerProcess {
  pid: number
  /** Whether it is the shell (or whatever else) that a terminal belongs to. */
  leads_terminal: boolean
}

/** The processes that are the customer's: all but the machine's first one and the agent; no zombies. */
export function customerProcesses(): CustomerProcess[] {
  return processIds().flatMap(pid => {
    if (pid === 1 || pid === process.pid) return []
    const [state, , , session, terminal] = statFields(pid) ?? ['X']
    if (state === 'Z' || state === 'X') return []
    return [{ pid, leads_terminal: Number(session) === pid && terminal !== '0' }]
  })
}

/**
 * Runs `spawn` so that the process it makes is the kernel's first choice when memory is used up. The score
 * is inherited at fork; raising and taking back one's own needs no right.
 */
export function asKernelsFirstChoice<T>(spawn: () => T): T {
  setOomScore(CUSTOMER_OOM_SCORE)
  try {
    return spawn()
  } finally {
    setOomScore('0')
  }
}

function setOomScore(score: string): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', score)
  } catch {
    // Without it the kernel chooses by size alone, which mostly comes to the same.
  }
}

function processIds(): number[] {
  return readdirSync('/proc').flatMap(name => (/^\d+$/.test(name) ? [Number(name)] : []))
}

/** The fields after the name, so that index 0 is the state (field 3 of proc(5)); null when it is gone. */
function statFields(pid: number): string[] | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return null
  }
}
