import { instanceId as instanceIdSchema } from '@berth/contract/instances'
import { and, eq, gt, lt } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import type { Instances } from '../../instances/instances.ts'
import { type SSH_OUTCOMES, sshAttempt } from '../tables.ts'

/** How a client fared that asked for an instance. */
export interface SshAttempt {
  outcome: (typeof SSH_OUTCOMES)[number]
  /** The key that it offered last; null where it offered none. */
  key: { fingerprint: string; type: string } | null
  /** Where it came from, as it is counted. */
  address: string
}

/** What clients that asked for instances by SSH came to, over all gateways: for whoever wonders why one is not let in. */
export interface SshAttempts {
  /** @param name What the client gave as its name: an instance's id, or anything else, which is not written down. */
  note(name: string, attempt: SshAttempt): Promise<void>
  /** The last one of an instance; null where there was none within a day. */
  last(instanceId: string): Promise<(SshAttempt & { at: Date }) | null>
}

/** What happened longer ago says little about today, and addresses are not kept for longer than they are of use. */
const KEPT_MS = 86_400_000

/** Keeps the last attempt of each instance, so that whoever asks for names at random fills nothing. */
export function createSshAttempts(deps: {
  db: Database
  clock: Clock
  instances: Pick<Instances, 'ownerOf'>
}): SshAttempts {
  const { db, clock, instances } = deps
  const oldest = () => new Date(clock.now().getTime() - KEPT_MS)
  return {
    async note(name, { outcome, key, address }) {
      if (!instanceIdSchema.safeParse(name).success) return
      const userId = await instances.ownerOf(name)
      if (userId === null) return
      const set = {
        userId,
        at: clock.now(),
        address,
        outcome,
        fingerprint: key?.fingerprint ?? null,
        keyType: key?.type ?? null,
      }
      await db.delete(sshAttempt).where(lt(sshAttempt.at, oldest()))
      await db
        .insert(sshAttempt)
        .values({ instanceId: name, ...set })
        .onConflictDoUpdate({ target: sshAttempt.instanceId, set })
    },
    async last(instanceId) {
      const [row] = await db
        .select()
        .from(sshAttempt)
        .where(and(eq(sshAttempt.instanceId, instanceId), gt(sshAttempt.at, oldest())))
      if (!row) return null
      const { at, address, outcome, fingerprint, keyType } = row
      const key = fingerprint === null ? null : { fingerprint, type: keyType ?? '' }
      return { at, address, outcome, key }
    },
  }
}
