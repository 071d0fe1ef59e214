import type { Ids } from '../../../platform/ids.ts'
import { createSealer } from '../../../platform/sealer.ts'

/**
 * Seals the tokens that an identity source gave, so that who reads the database cannot use them. A sealed token opens
 * for the session that it was sealed for alone.
 */
export function createTokenSeal(deps: { rootKey: Uint8Array; ids: Pick<Ids, 'secret'> }) {
  const sealer = createSealer({
    keys: [deps.rootKey],
    purpose: 'berth token of an identity source',
    ids: deps.ids,
  })
  return {
    /** @returns Text for the session's row. */
    seal(token: string, sessionId: string): string {
      const { box, keyId } = sealer.seal(token, [sessionId])
      return `${keyId}.${box.toString('base64url')}`
    },

    /** @returns The token; null where it was sealed by a key that is gone. */
    open(sealed: string, sessionId: string): string | null {
      const [keyId = '', box = ''] = sealed.split('.')
      if (!sealer.knows(keyId)) return null
      return sealer.open({ box: Buffer.from(box, 'base64url'), keyId }, [sessionId])
    },
  }
}
export type TokenSeal = ReturnType<typeof createTokenSeal>
