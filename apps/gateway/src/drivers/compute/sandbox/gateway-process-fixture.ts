import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { eventually } from '../conformance/tools.ts'

/** Half of what a start takes is to find and compile what it imports. */
const QUICK_IMPORTS = import.meta.resolve('../../../../test/quick-imports.ts')
/** Lets a computer give users out by the lines of a file (`$1`) as far as what follows sees. */
const WITH_RANGES =
  'for at in /etc/subuid /etc/subgid; do mount --bind "$1" $at || exit; done; shift; exec "$@"'

/**
 * Runs `gateway-fixture.ts` as a process of its own.
 * @param options.uid As that user; left out: as this one.
 * @param options.ranges A file that says which users that one may give out.
 */
export function startGateway(
  dataDir: string,
  id: string,
  options: { args?: string[]; uid?: number; ranges?: string } = {},
) {
  const script = fileURLToPath(import.meta.resolve('./gateway-fixture.ts'))
  const { uid, ranges } = options
  const become = ['setpriv', '--reuid', String(uid), '--regid', String(uid), '--clear-groups', '--']
  const apart = ['unshare', '--mount', '--propagation', 'private', '--', 'sh', '-c', WITH_RANGES, 'sh']
  const words = [
    ...(ranges === undefined ? [] : [...apart, ranges]),
    ...(uid === undefined ? [] : become),
    ...[process.execPath, '--import', QUICK_IMPORTS, script, dataDir, id, ...(options.args ?? [])],
  ]
  const [file = '', ...args] = words
  const child: ChildProcess = spawn(file, args, {
    stdio: ['ignore', 'pipe', 'ignore'],
    ...(uid === undefined ? {} : { env: { PATH: process.env.PATH, HOME: '/' } }),
  })
  const lines: string[] = []
  const reader = createInterface({ input: child.stdout ?? process.stdin })
  reader.on('line', line => lines.push(line))
  const gone = once(child, 'close')
  return {
    says: async (line: string) => {
      await eventually(() => expect(lines).toContain(line))
    },
    kill: async () => {
      child.kill('SIGKILL')
      await gone
    },
    end: async () => {
      await gone
      return lines
    },
  }
}

/** The host's processes that have to do with a data folder: launchers name it, and machines run in it. */
export function processesOf(dataDir: string): string[] {
  return readdirSync('/proc').flatMap(pid => {
    if (!/^\d+$/.test(pid)) return []
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      const mounts = readFileSync(`/proc/${pid}/mountinfo`, 'utf8')
      return words.includes(dataDir) || mounts.includes(`${dataDir}/`) ? [words.replaceAll('\0', ' ')] : []
    } catch {
      return []
    }
  })
}
