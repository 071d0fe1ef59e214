import { readdirSync, readFileSync } from 'node:fs'

/** The id of the SSH server's process that was started last beside this one. Linux only. */
export function sshProcessOf(): number {
  const own = readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(id => {
      try {
        const stat = readFileSync(`/proc/${id}/stat`, 'utf8')
        const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
        return parent === process.pid && readFileSync(`/proc/${id}/cmdline`, 'utf8').includes('ssh-process')
      } catch {
        return false
      }
    })
  return Math.max(...own)
}
