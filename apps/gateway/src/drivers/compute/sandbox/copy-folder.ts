import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { copiedBytes, copyScript } from '../copy-script.ts'
import { ComputeError } from '../port/compute-error.ts'
import { overFilesOf, usersFrom } from './machine-users.ts'

/** Both programs remember each file that has several names: a hostile tree is no reason to take the computer's memory. */
const MEMORY_KB_MAX = 1024 * 1024
const SAID_CHARS_MAX = 2_000

/** Copies the folder that is open as 3. It ends with the process that has begun it, which holds the other end of 4. */
const scriptOf = (bytesMax: number) => `
ulimit -v ${MEMORY_KB_MAX}
{ read _ <&4; kill -9 0; } >/dev/null 2>&1 &
watch=$!
${copyScript('/proc/self/fd/3', bytesMax)}
kill -9 $watch
`

/**
 * Copies a folder whose files are a customer's, by processes of its own.
 * @param order.from Where they lie.
 * @param order.to An empty folder that belongs to `uid`.
 * @param order.uid Who owns them, the first of its users where they are a range; null for the gateway's own user.
 * @returns What the copy takes of the disk, in bytes.
 * @throws ComputeError `failed` where not all of it could be copied, or the copy was given up.
 */
export async function copyFolder(
  order: { from: string; to: string; uid: number | null; bytesMax: number },
  signal: AbortSignal,
): Promise<number> {
  const { from, to, uid, bytesMax } = order
  const isMany = uid !== null && usersFrom(uid) > 1
  const words = [...(isMany ? overFilesOf(uid) : []), '/bin/sh', '-c', scriptOf(bytesMax)]
  // Opened before the process becomes that user, who could not come here by itself.
  const source = await open(from)
  try {
    const child = spawn('nice', ['-n', '15', ...words], {
      cwd: to,
      ...(uid === null || isMany ? {} : { uid, gid: uid }),
      env: { PATH: '/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C' },
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore', source.fd, 'pipe'],
    })
    const giveUp = () => killGroup(child.pid)
    signal.addEventListener('abort', giveUp, { once: true })
    if (signal.aborted) giveUp()
    let said = ''
    child.stdout?.on('data', chunk => {
      said = (said + chunk).slice(0, SAID_CHARS_MAX)
    })
    try {
      await once(child, 'close')
    } finally {
      signal.removeEventListener('abort', giveUp)
    }
    if (signal.aborted) throw new ComputeError('failed', 'the copy was given up')
    return copiedBytes(said)
  } finally {
    await source.close()
  }
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It ended by itself in the meantime.
  }
}
