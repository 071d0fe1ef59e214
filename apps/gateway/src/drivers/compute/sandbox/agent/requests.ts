import type { CommandPauses } from '../../port/command-end.ts'
import type { CommandEndRule } from '../../port/machines.ts'
import type { RunRequest, SessionRequest } from '../../sessions/frames.ts'

/** Raised when the words change, so that a gateway knows a machine that an older one started. */
export const AGENT_PROTOCOL = 2

/**
 * What the gateway asks of the agent, one request a connection (see `sessions/frames.ts`). After `ok`:
 *  - `hello`, `begin`, `stats`, `stop`: nothing more.
 *  - `watch`: an empty `exit` frame each time that the command ends; the socket stays open for as long as the machine
 *    lives. How it ended is in the report (open file 6), which is there also for a gateway that comes later.
 *  - `exec`: `data` and `stderr` frames, then one `exit` frame.
 *  - `run`: a program's line, see `sessions/frames.ts`.
 *  - `udp`: `datagram` frames, both ways.
 *  - `connect`: no more frames at all: the socket now carries the port's bytes, both ways.
 */
export type AgentRequest =
  | { op: 'hello' }
  | { op: 'begin' }
  | { op: 'watch' }
  | { op: 'stats' }
  | { op: 'stop'; grace_ms: number }
  | { op: 'connect'; port: number }
  | { op: 'udp'; port: number }
  | { op: 'exec'; argv: string[]; timeout_ms: number; output_bytes_max: number }
  | RunRequest
  | SessionRequest

/** What the agent answers to `stats`: sums over every process of the machine. */
export interface AgentStats {
  cpu_ms: number
  memory_bytes: number
  disk_bytes: number | null
}

/** What the agent is told at start, in a file that only it and the machine can read. */
export interface AgentMachine {
  command: string[] | null
  on_command_end: CommandEndRule
  pauses: CommandPauses
  env: Record<string, string>
  /** Where programs begin; left out for the home. */
  cwd?: string
  /** The folder that counts as its disk; left out for the home. */
  stores_in?: string
  /** Whether that is a file system of its own, which knows what is stored in it. */
  own_disk?: boolean
}
