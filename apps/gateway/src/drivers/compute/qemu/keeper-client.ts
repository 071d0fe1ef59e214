import type { Duplex } from 'node:stream'
import { converse } from '../sandbox/agent-client.ts'

/** Talks to the keeper whose socket lies in `runDir`, beyond what agents understand. */
export function createKeeperClient(runDir: string) {
  return {
    /** The machine's serial line, as it is. */
    serial: async (): Promise<Duplex> => (await converse(runDir, { op: 'serial' })).socket,
  }
}
