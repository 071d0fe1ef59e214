import { existsSync } from 'node:fs'
import type { PtyEvents, PtyProcess, Size } from '../../sessions/session.ts'
import { asKernelsFirstChoice } from './processes.ts'
import { openNativePty } from './pty-native.ts'

const PTY_BINARY = '/.berth/pty.node'
const SHELLS = ['/bin/bash', '/bin/sh']

/** There is none in the machine: its image was made for one program alone. */
export class NoShell extends Error {}

/** The best shell that the machine has. @throws NoShell */
export function findShell(): string {
  const found = SHELLS.find(path => existsSync(path))
  if (found === undefined) throw new NoShell(`the machine has none of ${SHELLS.join(', ')}`)
  return found
}

/**
 * Opens the best shell that the machine has, on a terminal.
 * @param args What it is to do; none to talk.
 * @param machine Where it begins, and the machine's own environment.
 * @param added What goes before it and before what terminals are told of themselves.
 */
export function openShell(
  size: Size,
  machine: { cwd: string; env: Record<string, string> },
  added: Record<string, string>,
  events: PtyEvents,
  args: string[] = [],
): PtyProcess {
  const shell = findShell()
  return asKernelsFirstChoice(() =>
    openNativePty(
      PTY_BINARY,
      {
        file: shell,
        args,
        env: { ...machine.env, SHELL: shell, TERM: 'xterm-256color', PS1: '\\u@\\h:\\w\\$ ', ...added },
        cwd: machine.cwd,
        ...size,
      },
      events,
    ),
  )
}
