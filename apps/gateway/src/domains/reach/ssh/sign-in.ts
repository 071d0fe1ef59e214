import type { Logger } from 'pino'
import type { AuthContext, Connection, PublicKeyAuthContext } from 'ssh2'
import ssh2 from 'ssh2'
import type { CountCall } from '../../../platform/http/rate-counts.ts'
import type { SshKeys } from '../../ssh-keys/ssh-keys.ts'
import { showBanner } from './library-gaps.ts'
import type { SshLimits } from './ssh-limits.ts'

/** Who signed in, and as what. */
export interface SshCustomer {
  userId: string
  /** The stored key that it was done with. */
  keyId: string
  /** The name that was given: an instance's id, or anything else. */
  name: string
}

export interface SignInDeps {
  sshKeys: Pick<SshKeys, 'holder'>
  /** Whose instance that is; null where there is none. */
  ownerOf(instanceId: string): Promise<string | null>
  /** Counts keys that were refused, over all gateways. */
  countRefusal: CountCall
  limits: SshLimits
  log: Pick<Logger, 'warn'>
}

const MINUTE_MS = 60_000
const NAME_CHARS_MAX = 64

/**
 * Lets whoever holds a stored key sign in, and nobody by any other way. Whether there is an instance of the name is told
 * to nobody before.
 * @param address Where the connection comes from, as it is counted.
 * @param onIn Called once.
 */
export function letSignIn(
  deps: SignInDeps,
  client: Connection,
  address: string,
  onIn: (customer: SshCustomer) => void,
): void {
  const { sshKeys, limits, log } = deps
  let customer: SshCustomer | null = null
  let tries = 0
  let isTold = false

  async function refuse(context: PublicKeyAuthContext, fingerprint: string): Promise<void> {
    const rule = { max: limits.refusalsPerMinuteMax, windowMs: MINUTE_MS }
    const { current } = await deps.countRefusal(address, rule)
    if (!isTold) {
      isTold = true
      showBanner(
        client,
        `Berth does not know the key ${fingerprint}. Keys are added in the console's settings.`,
      )
    }
    if (current > limits.refusalsPerMinuteMax || tries >= limits.triesMax) client.end()
    else context.reject(['publickey'])
  }

  async function check(context: PublicKeyAuthContext): Promise<void> {
    tries++
    const { fingerprint, key } = await sshKeys.holder(context.key.data)
    if (!key) return refuse(context, fingerprint)
    // The question before the signature: whether this key is worth unlocking.
    if (context.signature === undefined || context.blob === undefined) return context.accept()
    if (!isSigned(context, key.publicKey)) return refuse(context, fingerprint)
    const ownerId = await deps.ownerOf(context.username)
    const own = ownerId === null ? null : (await sshKeys.holder(context.key.data, ownerId)).key
    const { id, userId } = own ?? key
    customer = { userId, keyId: id, name: context.username }
    context.accept()
  }

  client.on('authentication', (context: AuthContext) => {
    if (context.method !== 'publickey' || context.username.length > NAME_CHARS_MAX) {
      // `none` is how clients ask what there is; all else is a try.
      if (context.method !== 'none' && ++tries >= limits.triesMax) client.end()
      else context.reject(['publickey'])
      return
    }
    check(context).catch(error => {
      log.warn({ err: error }, 'an SSH key could not be checked')
      client.end()
    })
  })
  client.once('ready', () => {
    if (customer) onIn(customer)
    else client.end()
  })
}

/** Whether what the client signed, which is this connection and no other, was signed with that key. */
function isSigned({ key, blob, signature, hashAlgo }: PublicKeyAuthContext, line: string): boolean {
  if (!blob || !signature) return false
  // SHA-1, which the library would still take.
  if (key.algo === 'ssh-rsa' && hashAlgo === undefined) return false
  const parsed = ssh2.utils.parseKey(line)
  if (parsed instanceof Error) return false
  return parsed.verify(blob, signature, hashAlgo) === true
}
