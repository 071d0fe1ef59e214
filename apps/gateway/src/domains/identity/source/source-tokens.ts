import { eq } from 'drizzle-orm'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import type { Ids } from '../../../platform/ids.ts'
import { createSealer } from '../../../platform/sealer.ts'
import { session } from '../tables.ts'

interface SourceTokensDeps {
  db: Database
  rootKey: Uint8Array
  ids: Pick<Ids, 'secret'>
}

/**
 * The tokens that an identity source gave for sessions, sealed in the sessions' rows, so that who reads the database
 * cannot use them. A sealed token opens for the session that it was sealed for alone.
 */
export function createSourceTokens({ db, rootKey, ids }: SourceTokensDeps) {
  const sealer = createSealer({ keys: [rootKey], purpose: 'berth token of an identity source', ids })

  return {
    /** Keeps the token of a session, in the transaction that opens it. */
    async keep(tx: Transaction, sessionId: string, token: string): Promise<void> {
      const { box, keyId } = sealer.seal(token, [sessionId])
      const externalToken = `${keyId}.${box.toString('base64url')}`
      await tx.update(session).set({ externalToken }).where(eq(session.id, sessionId))
    },

    /** @returns The token of a session; null where none is kept, and where it was sealed by a key that is gone. */
    async find(sessionId: string): Promise<string | null> {
      const [row] = await db
        .select({ sealed: session.externalToken })
        .from(session)
        .where(eq(session.id, sessionId))
      const [keyId = '', box = ''] = row?.sealed?.split('.') ?? []
      if (!sealer.knows(keyId)) return null
      return sealer.open({ box: Buffer.from(box, 'base64url'), keyId }, [sessionId])
    },

    async forget(sessionId: string): Promise<void> {
      await db.update(session).set({ externalToken: null }).where(eq(session.id, sessionId))
    },
  }
}
export type SourceTokens = ReturnType<typeof createSourceTokens>
