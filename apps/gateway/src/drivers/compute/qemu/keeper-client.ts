import type { Duplex } from 'node:stream'
import { fieldsOf } from '../port/answers.ts'
import type { GuestFacts } from '../port/observation.ts'
import { converse } from '../sandbox/agent-client.ts'
import { readGuestFacts } from './guest-facts.ts'

/** Talks to the keeper whose socket lies in `runDir`, beyond what agents understand. */
export function createKeeperClient(runDir: string) {
  return {
    /** The machine's serial line, as it is. */
    serial: async (): Promise<Duplex> => (await converse(runDir, { op: 'serial' })).socket,

    /** What the guest's agent says; null where none answers. */
    facts: async (): Promise<GuestFacts | null> => {
      const { answer, socket } = await converse(runDir, { op: 'guest' })
      socket.destroy()
      return readGuestFacts(fieldsOf(answer).facts)
    },
  }
}
