import { readdirSync, readFileSync } from 'node:fs'

/** As Linux shows it in /proc/self/fdinfo. */
const O_CLOEXEC = 0o2000000

type Stdio = 'ignore' | 'pipe' | number

/**
 * Puts /dev/null over every open file that the gateway got from whoever started it and that would pass on
 * to its children; Node closes only those that it opened itself. A child that outlives the gateway would hold them.
 * @param nothing /dev/null, open.
 * @returns What a child is to have open, in the way of `spawn`.
 */
export function overInherited(stdio: Stdio[], nothing: number): (Stdio | null)[] {
  const covered: (Stdio | null)[] = [...stdio]
  for (const name of openFiles()) {
    const fd = Number(name)
    if (fd < stdio.length || isClosedOnExec(name)) continue
    while (covered.length < fd) covered.push(null)
    covered[fd] = nothing
  }
  return covered
}

function isClosedOnExec(fd: string): boolean {
  try {
    const flags = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1]
    return (Number.parseInt(flags ?? '0', 8) & O_CLOEXEC) !== 0
  } catch {
    return true
  }
}

/** Numbers of this process's open files; none on systems that do not say. */
function openFiles(): string[] {
  try {
    return readdirSync('/proc/self/fdinfo')
  } catch {
    return []
  }
}
