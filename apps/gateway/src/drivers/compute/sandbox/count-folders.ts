import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** What takes longer to count than this is not counted. */
const COUNT_TIMEOUT_MS = 20_000
const COMPLAINTS_BYTES_MAX = 64 * 1024
/** It remembers each file that has several names: a hostile tree is no reason to take the computer's memory. */
const BOUNDED = 'ulimit -v 1048576; exec nice -n 5 "$@"'

/**
 * What lies below each folder, counted by a process of its own, which has so much time and memory for all of them. A folder is
 * not in the answer where counting it took too long or was refused: whoever closes folders against being counted counts as
 * having much.
 * @param counting Words that go before what counts, where folders are closed to the gateway.
 * @returns KiB by folder, as they lie on the disk.
 */
export async function countKb(dirs: string[], counting: readonly string[]): Promise<Map<string, number>> {
  const counted = new Map<string, number>()
  if (dirs.length === 0) return counted
  const child = spawn('sh', ['-c', BOUNDED, 'count', ...counting, 'du', '-skx', '--', ...dirs], {
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C' },
    timeout: COUNT_TIMEOUT_MS,
    killSignal: 'SIGKILL',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let complaints = ''
  child.stdout.on('data', chunk => {
    out += chunk
  })
  child.stderr.on('data', chunk => {
    complaints += String(chunk).slice(0, COMPLAINTS_BYTES_MAX - complaints.length)
  })
  await once(child, 'close')
  for (const line of out.split('\n')) {
    const [kb = '', dir = ''] = line.split('\t')
    const refused = complaints
      .split('\n')
      .some(said => said.includes(dir) && said.includes('Permission denied'))
    if (dir !== '' && !refused) counted.set(dir, Number(kb))
  }
  return counted
}
