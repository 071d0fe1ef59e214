import { accessSync, constants, globSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

/** Making a database and taking it down there takes a small part of what it takes on a disk. */
const MEMORY_FOLDER = '/dev/shm'
/** Many times what the databases of a run take at once: 10 MB each, and the log. */
const MEMORY_BYTES_MIN = 1024 ** 3
const PREFIX = 'berth-quick-'

/**
 * Makes a folder for data that no test asks of a disk: in memory where there is room. Whoever makes it removes it; what
 * a killed run left is removed by {@link removeLeftovers}.
 * @param name What is in it, in small letters.
 */
export function makeQuickFolder(name: string): string {
  const place = hasMemoryFolder() ? MEMORY_FOLDER : tmpdir()
  return mkdtempSync(join(place, `${PREFIX}${name}-${process.pid}-`))
}

/** Removes the folders of runs that were killed, with the database servers in them. */
export function removeLeftovers(): void {
  for (const folder of globSync([MEMORY_FOLDER, tmpdir()].map(place => join(place, `${PREFIX}*`)))) {
    const [, pid = ''] = /-(\d+)-[^-]*$/.exec(basename(folder)) ?? []
    if (/vitest|node/.test(commandLine(Number(pid)))) continue
    for (const pidFile of globSync(
      ['', 'data/'].map(data => join(folder, `${data}postgres/postmaster.pid`)),
    )) {
      const server = Number.parseInt(readFileSync(pidFile, 'utf8'), 10)
      if (server > 0 && commandLine(server).includes(folder)) process.kill(server, 'SIGQUIT')
    }
    rmSync(folder, { recursive: true, force: true })
  }
}

function hasMemoryFolder(): boolean {
  try {
    accessSync(MEMORY_FOLDER, constants.W_OK)
    const { bavail, bsize } = statfsSync(MEMORY_FOLDER)
    return bavail * bsize >= MEMORY_BYTES_MIN
  } catch {
    return false
  }
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}
