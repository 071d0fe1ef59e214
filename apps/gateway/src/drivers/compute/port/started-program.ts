import type { TerminalModes } from 'ssh2'
import type { ProgramLine, ProgramLineEnd, ProgramLineEvents } from './program-line.ts'

/** What a session is to run. */
export interface AskedProgram {
  /** A line for the shell, null for the shell itself, or a part of an SSH server by its name. */
  what: { command: string | null } | { subsystem: string }
  /** Added to the machine's own; `TERM` is its terminal's. */
  env: Record<string, string>
  pty: { cols: number; rows: number; modes?: TerminalModes } | null
}

/** What is heard of it. */
export interface GuestProgramEvents extends ProgramLineEvents {
  /** It has ended; whatever it left behind may hold its outputs still. Not every side can tell. */
  onExited?(end: ProgramLineEnd): void
}

/** A program that runs, and to which nobody listens yet. */
export interface StartedProgram {
  /** Takes it up: it flows from here on. */
  open(events: GuestProgramEvents): ProgramLine
  /** Lets go of it unheard. */
  drop(): void
}
