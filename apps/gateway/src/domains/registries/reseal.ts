import { and, eq, gt, ne } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Database } from '../../platform/database/database.ts'
import type { Sealed, Sealer } from '../../platform/sealer.ts'
import { registryCredential } from './tables.ts'

/** Rows that are read at once. */
const BATCH = 100
const FIRST_ID = '00000000-0000-0000-0000-000000000000'

interface ResealDeps {
  db: Database
  sealer: Sealer
  log: Logger
}

/**
 * Seals passwords again that are sealed under another key than the one of now. Rows under a key that is not set stay
 * as they are, and the log says how many.
 * @returns How many were sealed again.
 */
export async function resealAll({ db, sealer, log }: ResealDeps): Promise<number> {
  const lost = new Map<string, number>()
  let resealed = 0
  let afterId = FIRST_ID
  for (;;) {
    const rows = await db
      .select()
      .from(registryCredential)
      .where(and(ne(registryCredential.keyId, sealer.keyId), gt(registryCredential.id, afterId)))
      .orderBy(registryCredential.id)
      .limit(BATCH)
    for (const { id, userId, password, keyId } of rows) {
      afterId = id
      if (!sealer.knows(keyId)) {
        lost.set(keyId, (lost.get(keyId) ?? 0) + 1)
        continue
      }
      const sealed = sealAgain(sealer, { box: password, keyId }, [id, userId])
      if (!sealed) {
        log.error({ credential: id }, 'a registry password cannot be opened: its row is damaged')
        continue
      }
      // Only where nobody gave another password meanwhile.
      const changed = await db
        .update(registryCredential)
        .set({ password: sealed.box, keyId: sealed.keyId })
        .where(and(eq(registryCredential.id, id), eq(registryCredential.password, password)))
        .returning({ id: registryCredential.id })
      resealed += changed.length
    }
    if (rows.length < BATCH) break
  }
  if (resealed > 0) log.info({ resealed }, 'registry passwords were sealed again under the key of now')
  for (const [keyId, credentials] of lost) {
    log.warn(
      { keyId, credentials },
      'registry passwords are sealed under a key that is not set: name it in BERTH_CREDENTIALS_KEY_FORMER',
    )
  }
  return resealed
}

/** Null where the box does not open: one damaged row does not hold up the others. */
function sealAgain(sealer: Sealer, sealed: Sealed, place: string[]): Sealed | null {
  try {
    return sealer.seal(sealer.open(sealed, place), place)
  } catch {
    return null
  }
}
