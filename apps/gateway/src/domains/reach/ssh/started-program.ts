import type { Duplex } from 'node:stream'
import type { TerminalModes } from 'ssh2'
import {
  openProgram,
  type ProgramLine,
  type ProgramLineEvents,
} from '../../../drivers/compute/port/program-line.ts'

/** What a session is to run. */
export interface AskedProgram {
  /** A line for the shell, null for the shell itself, or a part of an SSH server by its name. */
  what: { command: string | null } | { subsystem: string }
  /** Added to the machine's own; `TERM` is its terminal's. */
  env: Record<string, string>
  pty: { cols: number; rows: number; modes?: TerminalModes } | null
}

/** A program that runs, and to which nobody listens yet. */
export interface StartedProgram {
  /** Takes it up: it flows from here on. */
  open(events: ProgramLineEvents): ProgramLine
  /** Lets go of it unheard. */
  drop(): void
}

/** What an engine runs, before somebody listens. */
export function lineOf(stream: Duplex): StartedProgram {
  return {
    open: events => openProgram(stream, events),
    drop: () => void stream.on('error', () => undefined).destroy(),
  }
}
