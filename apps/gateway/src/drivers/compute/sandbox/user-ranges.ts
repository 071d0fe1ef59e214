import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { takeLock } from '../../../platform/host-lock.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { MachineStore } from './machine-store.ts'
import { MACHINES, USERS_EACH } from './machine-users.ts'

/** Where a machine's folder says which range it has; from before its home is until it is gone. */
const USERS_FILE = 'users'

/**
 * Gives machines ranges of users, no two of one folder the same. Other folders of this computer begin elsewhere; where
 * two of them come to the same range all the same, what keeps their machines apart is everything else.
 */
export function createUserRanges(deps: { dataDir: string; installation: string; store: MachineStore }) {
  const { dataDir, installation, store } = deps
  const ranges = (MACHINES.end - MACHINES.first) / USERS_EACH
  const first = Number.parseInt(installation.slice(0, 8), 16) % ranges

  async function read(id: string): Promise<number> {
    return Number(await readFile(join(store.paths(id).dir, USERS_FILE), 'utf8').catch(() => 0))
  }

  return {
    /**
     * Gives a machine its range.
     * @returns The first user of it.
     * @throws ComputeError `exhausted` where all are taken.
     */
    async take(id: string): Promise<number> {
      const { signal } = new AbortController()
      // Several gateways may share the folder.
      const lock = await takeLock(join(dataDir, 'users.lock'), { kind: 'exclusive', wait: true, signal })
      try {
        const taken = new Set(await Promise.all((await store.ids()).map(read)))
        for (let at = 0; at < ranges; at++) {
          const uid = MACHINES.first + ((first + at) % ranges) * USERS_EACH
          if (taken.has(uid)) continue
          await mkdir(store.paths(id).dir, { recursive: true, mode: 0o700 })
          await writeFile(join(store.paths(id).dir, USERS_FILE), String(uid), { mode: 0o600 })
          return uid
        }
      } finally {
        lock?.release()
      }
      throw new ComputeError('exhausted', 'all users that machines may have on this computer are taken')
    },
  }
}

export type UserRanges = ReturnType<typeof createUserRanges>
