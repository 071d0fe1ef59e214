import { closeSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import type { ControlGroup, CountingGroups } from './control-groups.ts'

/** What the kernel has counted of a machine. */
export interface GroupCounts {
  /** Processor time since its groups were made. */
  cpuMs: number
  /** Without the file cache that the kernel would give up first, as Docker and Kubernetes count it. */
  memoryBytes: number
}

/** Keeps a machine's groups open. A group that was removed and made anew under its name is another one. */
export interface GroupReader {
  /** Null once a group is gone. */
  read(): GroupCounts | null
  /** Programs that were ended since the memory of its group was used up; null once that is gone, or tells nothing of it. */
  oomKills(): number | null
  close(): void
}

/** How many descriptors one reader holds. */
export const DESCRIPTORS_OF_READER = 4

/** The longest of the files, `memory.stat` of version 2, has some 2 kB. */
const FILE_BYTES_MAX = 16 * 1024
const NEWLINE = 10
const DIGIT_0 = 48
const DIGIT_9 = 57

/** All files are read into this one, one after the other, behind a line's end by which a first line is found, too. */
const text = Buffer.alloc(1 + FILE_BYTES_MAX)
text[0] = NEWLINE

const CPU_FILES = {
  1: { name: 'cpuacct.usage', field: null, unitsPerMs: 1e6 },
  2: { name: 'cpu.stat', field: Buffer.from('\nusage_usec '), unitsPerMs: 1000 },
}
const MEMORY_FILES = {
  1: { name: 'memory.usage_in_bytes', cache: Buffer.from('\ntotal_inactive_file ') },
  2: { name: 'memory.current', cache: Buffer.from('\ninactive_file ') },
}

/** Kernels before 4.13 count none of these. */
const OOM_FILES = { 1: 'memory.oom_control', 2: 'memory.events' }
const OOM_FIELD = Buffer.from('\noom_kill ')

/** The files in which the kernel counts: processor time, memory in use, and what that consists of. */
export function countingFiles(cpu: ControlGroup, memory: ControlGroup): [string, string, string] {
  return [
    join(cpu.dir, CPU_FILES[cpu.version].name),
    join(memory.dir, MEMORY_FILES[memory.version].name),
    join(memory.dir, 'memory.stat'),
  ]
}

/**
 * Opens the files in which the kernel counts. To open one takes five times as long as to read it; none ever waits for a
 * disk, so they are read in place.
 * @returns Null where one of them cannot be opened: the group is gone, or this process has too much open.
 */
export function openGroups({ cpu, memory }: CountingGroups): GroupReader | null {
  if (!cpu || !memory) return null
  const opened: number[] = []
  const open = (path: string) => {
    const descriptor = openSync(path, 'r')
    opened.push(descriptor)
    return descriptor
  }
  const close = () => {
    for (const descriptor of opened.splice(0)) closeSync(descriptor)
  }
  const cpuFile = CPU_FILES[cpu.version]
  const memoryFile = MEMORY_FILES[memory.version]
  try {
    const [cpuPath, usedPath, statPath] = countingFiles(cpu, memory)
    const cpuTotal = open(cpuPath)
    const memoryUsed = open(usedPath)
    const memoryStat = open(statPath)
    const oomEvents = openIfThere(join(memory.dir, OOM_FILES[memory.version]))
    if (oomEvents !== null) opened.push(oomEvents)
    return {
      close,
      oomKills: () => {
        if (opened.length === 0 || oomEvents === null) return null
        try {
          return findNumber(oomEvents, OOM_FIELD)
        } catch {
          return null
        }
      },
      read: () => {
        if (opened.length === 0) return null
        try {
          const units = readNumber(cpuTotal, cpuFile.field)
          const used = readNumber(memoryUsed, null)
          const cache = readNumber(memoryStat, memoryFile.cache)
          return { cpuMs: units / cpuFile.unitsPerMs, memoryBytes: Math.max(0, used - cache) }
        } catch {
          // ENODEV, by which the kernel says that the group is gone.
          return null
        }
      },
    }
  } catch {
    close()
    return null
  }
}

function openIfThere(path: string): number | null {
  try {
    return openSync(path, 'r')
  } catch {
    return null
  }
}

/** The number that a file holds, or that stands behind a field in it; 0 where there is none. */
function readNumber(descriptor: number, field: Buffer | null): number {
  return findNumber(descriptor, field) ?? 0
}

/** The same, or null where there is none. */
function findNumber(descriptor: number, field: Buffer | null): number | null {
  const end = 1 + readSync(descriptor, text, 1, FILE_BYTES_MAX, 0)
  let at = 1
  if (field !== null) {
    const found = text.indexOf(field)
    // What stands behind the end is of a file that was read before.
    if (found < 0 || found + field.length > end) return null
    at = found + field.length
  }
  let number = 0
  for (let digit = text[at]; at < end && digit !== undefined; digit = text[++at]) {
    if (digit < DIGIT_0 || digit > DIGIT_9) break
    number = number * 10 + digit - DIGIT_0
  }
  return number
}
