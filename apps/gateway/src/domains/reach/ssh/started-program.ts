import type { Duplex } from 'node:stream'
import { openProgram } from '../../../drivers/compute/port/program-line.ts'
import type { StartedProgram } from '../../../drivers/compute/port/started-program.ts'

/** What an engine runs, before somebody listens. */
export function lineOf(stream: Duplex): StartedProgram {
  return {
    open: events => openProgram(stream, events),
    drop: () => void stream.on('error', () => undefined).destroy(),
  }
}
