import { closeSync, openSync, readFileSync } from 'node:fs'

/** What a process's network has carried since it was made, without its loopback, in bytes. */
export interface NetworkTotals {
  received: number
  sent: number
}

/** The kernel's folder of one process, kept open: another process that gets its id later is not in it. */
export interface ProcessFolder {
  /** In which control groups it is; null once it is gone. */
  groups(): string | null
  /** Null where its network has nothing but a loopback, and once it is gone. */
  network(): NetworkTotals | null
  close(): void
}

/** Opens the folder of a process; null where there is none of that id. */
export function openProcess(pid: number): ProcessFolder | null {
  let folder: number
  try {
    folder = openSync(`/proc/${pid}`, 'r')
  } catch {
    return null
  }
  let isOpen = true
  const read = (name: string): string | null => {
    if (!isOpen) return null
    try {
      return readFileSync(`/proc/self/fd/${folder}/${name}`, 'latin1')
    } catch {
      return null
    }
  }
  return {
    groups: () => read('cgroup'),
    // Never kept open: that would keep the network of a machine that has ended.
    network: () => sumNetwork(read('net/dev')),
    close: () => {
      if (isOpen) closeSync(folder)
      isOpen = false
    },
  }
}

/** @param table As `/proc/PID/net/dev` has it: a line an interface, `name: received …` with what was sent in ninth place. */
function sumNetwork(table: string | null): NetworkTotals | null {
  const sums = { received: 0, sent: 0 }
  let count = 0
  for (const line of table?.split('\n') ?? []) {
    const [, name, figures] = /^\s*([^:\s]+):\s*(.*)$/.exec(line) ?? []
    if (name === undefined || figures === undefined || name === 'lo') continue
    const fields = figures.split(/\s+/)
    sums.received += Number(fields[0])
    sums.sent += Number(fields[8])
    count += 1
  }
  return count === 0 ? null : sums
}
