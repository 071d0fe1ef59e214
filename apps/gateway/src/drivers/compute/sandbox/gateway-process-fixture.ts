import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { eventually } from '../conformance/tools.ts'

/** Runs `gateway-fixture.ts` as a process of its own. */
export function startGateway(dataDir: string, id: string, options: { args?: string[]; uid?: number } = {}) {
  const script = fileURLToPath(import.meta.resolve('./gateway-fixture.ts'))
  const { uid } = options
  const child: ChildProcess = spawn(process.execPath, [script, dataDir, id, ...(options.args ?? [])], {
    stdio: ['ignore', 'pipe', 'ignore'],
    ...(uid === undefined ? {} : { uid, gid: uid, env: { PATH: process.env.PATH, HOME: '/' } }),
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
