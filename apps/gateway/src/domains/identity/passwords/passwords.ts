import { hash, verify } from '@node-rs/argon2'
import { createAtOnce } from '../../../platform/at-once.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Ids } from '../../../platform/ids.ts'

/** What a hash costs whoever makes it, and whoever guesses. */
export interface PasswordCost {
  /** Memory in KiB. */
  memoryCost: number
  /** Passes over it. */
  timeCost: number
  parallelism: number
}

/** Argon2id by the least that OWASP names for it: 19 MiB, two passes, one lane. */
const COST: PasswordCost = { memoryCost: 19 * 1_024, timeCost: 2, parallelism: 1 }

/** At once, so that hashing leaves half of libuv's four threads to everything else. */
const AT_ONCE_MAX = 2
/** Waiting; at some 30 ms each the last one is still answered within the console's timeout. */
const WAITING_MAX = 200
const BUSY_RETRY_SECONDS = 5

/**
 * Hashes and checks passwords, a bounded number at a time.
 * @param deps `passwordCost` is only passed by tests, where no hash has to withstand anybody.
 */
export function createPasswords(deps: { ids: Ids; passwordCost?: PasswordCost | undefined }) {
  const cost = deps.passwordCost ?? COST
  const limited = createAtOnce(AT_ONCE_MAX, {
    waitingMax: WAITING_MAX,
    refuse() {
      throw new ApiError('too_many_requests', { values: { seconds: BUSY_RETRY_SECONDS } })
    },
  })
  // Nobody's password: a name that is unknown costs the same time as one that is known.
  let nobody: Promise<string> | null = null
  const nobodysHash = () => {
    nobody ??= hash(deps.ids.secret(16), cost)
    return nobody
  }

  return {
    /** Makes what `check` needs ready, so that the first unknown name is not slower than a known one. */
    async prepare(): Promise<void> {
      await nobodysHash()
    },

    /**
     * Hashes a new password.
     * @returns Argon2id in PHC form.
     * @throws ApiError `too_many_requests` when too many wait already.
     */
    hash: (password: string): Promise<string> => limited(() => hash(password, cost)),

    /**
     * Checks a typed password.
     * @param stored The account's hash, or null where there is none: then the answer is false, as slowly.
     * @throws ApiError `too_many_requests` when too many wait already.
     */
    async check(stored: string | null, password: string): Promise<boolean> {
      const against = stored ?? (await nobodysHash())
      const matches = await limited(() => verify(against, password))
      return matches && stored !== null
    },
  }
}
export type Passwords = ReturnType<typeof createPasswords>
