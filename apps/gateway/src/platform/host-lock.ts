import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'

/** As `flock` says that somebody else has it. */
const TAKEN_EXIT_CODE = 1

/** A lock of the kernel that this process has. It ends with this process and with those that it gave the file to. */
export interface HostLock {
  /** The open file that the lock is of, for a child that is to hold it as well. */
  fd: number
  release(): void
}

/**
 * Takes a lock that all processes of this computer see. Node has no call for it; the lock belongs to the open file, so a
 * child takes it on ours.
 * @param path A file that is there for this alone; made where it is not there.
 * @param options.wait Whether to wait for whoever has it; else null is given then.
 * @throws Error where it cannot be taken, and when `signal` says so.
 */
export async function takeLock(
  path: string,
  options: { kind: 'shared' | 'exclusive'; wait: boolean; signal: AbortSignal },
): Promise<HostLock | null> {
  const { kind, wait, signal } = options
  const fd = openSync(path, 'a', 0o600)
  const release = () => closeSync(fd)
  try {
    const child = spawn('flock', [`--${kind}`, ...(wait ? [] : ['--nonblock']), '3'], {
      env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
      stdio: ['ignore', 'ignore', 'ignore', fd],
      signal,
    })
    const [code] = await once(child, 'close')
    if (code === 0) return { fd, release }
    if (code !== TAKEN_EXIT_CODE || wait)
      throw new Error(`${path} cannot be locked (flock ends with ${code})`)
  } catch (error) {
    release()
    throw error
  }
  release()
  return null
}
