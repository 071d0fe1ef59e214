import type { AuthContext, Connection, PublicKeyAuthContext } from 'ssh2'
import ssh2 from 'ssh2'
import type { SshAttempt } from './attempts.ts'
import { type GatewaySide, letsKeyIn, type SshLog } from './gateway-side.ts'
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
  gateway: Pick<GatewaySide, 'holder' | 'isSignedBySecurityKey' | 'accessOf' | 'countRefusal' | 'note'>
  limits: SshLimits
  log: SshLog
}

const MINUTE_MS = 60_000
const NAME_CHARS_MAX = 64
/** What a key's kind is called by those who know it; anything else is not said again. */
const KEY_TYPE = /^[a-z0-9@.-]{1,40}$/

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
  const { gateway, limits, log } = deps
  let customer: SshCustomer | null = null
  let tries = 0
  let isTold = false
  /** What it came to until now, and the name that was given. */
  let asked: (Pick<SshAttempt, 'outcome' | 'key'> & { name: string }) | null = null

  const came = (context: AuthContext, outcome: SshAttempt['outcome'], key: SshAttempt['key'] = null) => {
    asked = { name: context.username, outcome, key }
  }

  async function refuse(context: PublicKeyAuthContext, why: string): Promise<void> {
    const rule = { max: limits.refusalsPerMinuteMax, windowMs: MINUTE_MS }
    const { current } = await gateway.countRefusal(address, rule)
    if (!isTold) {
      isTold = true
      showBanner(client, why)
    }
    if (tries >= limits.triesMax && asked) asked.outcome = 'too_many_keys'
    if (current > limits.refusalsPerMinuteMax || tries >= limits.triesMax) client.end()
    else context.reject(['publickey'])
  }

  async function check(context: PublicKeyAuthContext): Promise<void> {
    tries++
    const { fingerprint, key } = await gateway.holder(context.key.data)
    const offered = { fingerprint, type: KEY_TYPE.test(context.key.algo) ? context.key.algo : '' }
    came(context, key ? 'key_signature_wrong' : 'key_unknown', offered)
    const isUnknown = `Berth does not know the key ${fingerprint}. Keys are added in the console's settings.`
    if (!key) return refuse(context, isUnknown)
    // The question before the signature: whether this key is worth unlocking.
    if (context.signature === undefined || context.blob === undefined) return context.accept()
    if (isOldSignature(context)) came(context, 'key_signature_old', offered)
    if (!(await isSigned(context, key.publicKey))) return refuse(context, isUnknown)
    // A key may be stored in several accounts: whose instance it is decides, and for no instance the one that had it first.
    const access = await gateway.accessOf(context.username)
    const own = access && (await gateway.holder(context.key.data, access.userId)).key
    if (access && own && !letsKeyIn(access, own.id)) {
      came(context, 'key_not_chosen', offered)
      // Whoever has signed as their customer may hear it; another key may be tried behind it.
      return refuse(
        context,
        `The key ${fingerprint} is not among those that may sign in to this instance. Edit the instance in the console to choose it.`,
      )
    }
    const { id, userId } = own ?? key
    customer = { userId, keyId: id, name: context.username }
    came(context, own ? 'signed_in' : 'key_unknown', offered)
    context.accept()
  }

  /** Whether the client signed, with that key, what is this connection and no other. */
  async function isSigned(context: PublicKeyAuthContext, line: string): Promise<boolean> {
    const { blob, signature, hashAlgo } = context
    if (!blob || !signature || isOldSignature(context)) return false
    const [type = ''] = line.split(' ', 1)
    if (context.key.algo !== type) return false
    // Keys of tokens are passed on by the library as they come, and checked by nobody.
    if (type.startsWith('sk-')) return gateway.isSignedBySecurityKey(context.key.data, blob, signature)
    const parsed = ssh2.utils.parseKey(line)
    if (parsed instanceof Error) return false
    return parsed.verify(blob, signature, hashAlgo) === true
  }

  client.on('authentication', (context: AuthContext) => {
    if (context.method !== 'publickey' || context.username.length > NAME_CHARS_MAX) {
      if (!asked) came(context, 'key_not_offered')
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
  /** Only at the end, so that what is answered, and when, does not depend on whether there is an instance of that name. */
  const writeDown = () => {
    if (!asked) return
    const { name, ...attempt } = asked
    asked = null
    gateway.note(name, { ...attempt, address }).catch(error => {
      log.warn({ err: error }, 'a try to sign in by SSH could not be written down')
    })
  }
  client.once('close', writeDown)
  client.once('ready', () => {
    writeDown()
    if (customer) onIn(customer)
    else client.end()
  })
}

/** Whether it is one of SHA-1, which the library would still take. */
function isOldSignature({ key, hashAlgo }: PublicKeyAuthContext): boolean {
  return key.algo === 'ssh-rsa' && hashAlgo === undefined
}
