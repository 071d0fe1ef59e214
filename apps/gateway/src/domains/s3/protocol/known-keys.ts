import type { GatewaySide, KnownKey } from '../gateway-side.ts'
import { S3Error } from '../s3-error.ts'
import type { Claim } from './signature.ts'

/** Questions that wait at once: strangers make up keys, and each is asked for. */
const ASKED_MAX = 64

/**
 * Keys as the gateway told them a moment ago. What was told is asked again after a while, and at once after a change. What
 * is not a key is asked each time, and bounded by what strangers may ask at once.
 */
export function createKnownKeys(deps: {
  gateway: Pick<GatewaySide, 'findKey'>
  now(): number
  knownMs: number
  most: number
}) {
  const known = new Map<string, { key: KnownKey; until: number }>()
  const asking = new Map<string, Promise<KnownKey | null>>()
  let changes = 0

  async function ask(
    claim: Pick<Claim, 'accessKeyId' | 'date' | 'region'>,
    name: string,
  ): Promise<KnownKey | null> {
    const before = changes
    const { accessKeyId, date, region } = claim
    const key = await deps.gateway.findKey({ accessKeyId, date, region })
    // What was asked before a change may be what was so before it.
    if (!key || before !== changes) return key
    const [oldest] = known.keys()
    if (known.size >= deps.most && oldest !== undefined) known.delete(oldest)
    known.set(name, { key, until: deps.now() + deps.knownMs })
    return key
  }

  return {
    /** The key of a claim; null where it is none. @throws S3Error `SlowDown` where too many are asked for. */
    async find(claim: Pick<Claim, 'accessKeyId' | 'date' | 'region'>): Promise<KnownKey | null> {
      const name = `${claim.accessKeyId} ${claim.date} ${claim.region}`
      const found = known.get(name)
      if (found && found.until > deps.now()) return found.key
      known.delete(name)
      const under = asking.get(name)
      if (under) return under
      if (asking.size >= ASKED_MAX) throw new S3Error('SlowDown')
      const asked = ask(claim, name).finally(() => asking.delete(name))
      asking.set(name, asked)
      return asked
    },
    forget(): void {
      changes += 1
      known.clear()
      asking.clear()
    },
  }
}
