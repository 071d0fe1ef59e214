import { eq, sql } from 'drizzle-orm'
import type { IdentitySource, SourceSignInAnswer } from '../../../drivers/identity/port.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Queryable } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { findByEmail } from '../accounts/accounts-store.ts'
import type { CaptchaAnswer } from '../captcha/captcha.ts'
import type { CheckPassword } from '../passwords/password-check.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { userAccount } from '../tables.ts'
import { type AttemptRule, type Attempts, attemptKey } from '../throttles/attempts.ts'
import type { Mirror } from './mirror.ts'
import type { SourceTokens } from './source-tokens.ts'

const MINUTE_MS = 60_000
/** How a source counts wrong passwords of an account that it has: Casdoor's own numbers, where nobody changed them. */
const FROZEN_MINUTES = 15
const UNKNOWN_RULE: AttemptRule = {
  max: 5,
  windowMs: FROZEN_MINUTES * MINUTE_MS,
  blockMs: FROZEN_MINUTES * MINUTE_MS,
}

interface SourcePasswordCheckDeps {
  db: Database
  clock: Clock
  source: Pick<IdentitySource, 'signIn'>
  attempts: Attempts
  mirror: Mirror
  tokens: Pick<SourceTokens, 'keep'>
  sessions: Pick<Sessions, 'forget'>
}

/**
 * Lets a source look at passwords. It says who has no account; the gateway does not: names that nobody has are counted
 * here as the source counts the others, and answered alike.
 */
export function createSourcePasswordCheck(deps: SourcePasswordCheckDeps): CheckPassword {
  const { db, clock, source, attempts, mirror, tokens } = deps

  /** What the source would say if somebody had the name. */
  async function countUnknown(name: string): Promise<SourceSignInAnswer> {
    const key = attemptKey('source-unknown', name)
    const until = await attempts.take(db, key, UNKNOWN_RULE)
    if (until) {
      const minutes = Math.ceil((until.getTime() - clock.now().getTime()) / MINUTE_MS)
      return { outcome: 'frozen', minutes: Math.max(1, minutes) }
    }
    const count = (await attempts.read(db, [key])).get(key)?.count ?? 1
    return { outcome: 'wrong', triesLeft: Math.max(0, UNKNOWN_RULE.max - count) }
  }

  return async ({ email: name, password, place, answer: typed }) => {
    const startedAt = await databaseTime(db)
    const said = await source.signIn({ username: name, password, captcha: captchaOf(typed), ...place })
    const answer = said.outcome === 'unknown' ? await countUnknown(name) : said
    if (answer.outcome === 'frozen') throw frozen(answer.minutes)
    if (answer.outcome !== 'right') {
      const triesLeft = answer.outcome === 'wrong' ? answer.triesLeft : null
      const user = said.outcome === 'unknown' ? null : await findByEmail(db, name)
      return { isRight: false, user, refusal: counted => stricter(counted, triesLeft) }
    }
    const { profile, token } = answer
    await mirror.releaseAddress(profile)
    return {
      isRight: true,
      async confirm(tx) {
        const row = await mirror.write(tx, profile, {})
        // The column has milliseconds.
        const isOutdated = sql`${userAccount.externalPasswordAt} >= ${startedAt}::timestamptz - interval '1 ms'`
        const [changed] = await tx
          .select({ isOutdated: sql<boolean | null>`${isOutdated}` })
          .from(userAccount)
          .where(eq(userAccount.id, row.id))
          // A change of the password waits, and then ends the session that is opened here.
          .for('share')
        if (changed?.isOutdated) throw new ApiError('login_failed')
        return row
      },
      keep: (tx, sessionId) => tokens.keep(tx, sessionId, token),
      done: deps.sessions.forget,
    }
  }
}

/** As the source takes it; null where none was answered. */
function captchaOf({ type, token, captchaId }: CaptchaAnswer) {
  return type === '' ? null : { type, token, secret: captchaId }
}

/** By the clock that also says when a password was changed; as text, which keeps its microseconds. */
async function databaseTime(q: Pick<Queryable, 'execute'>): Promise<string> {
  const { rows } = await q.execute<{ at: string }>(sql`select clock_timestamp()::text as at`)
  return rows[0]?.at ?? ''
}

/** The gateway's own count, or the source's where that leaves less. */
function stricter(counted: ApiError, triesLeft: number | null): ApiError {
  if (triesLeft === null || counted.code !== 'login_tries_left') return counted
  if (triesLeft === 0) return frozen(FROZEN_MINUTES)
  const tries = Math.min(triesLeft, Number(counted.values.tries))
  return new ApiError('login_tries_left', { values: { tries } })
}

function frozen(minutes: number): ApiError {
  return new ApiError('login_frozen', { values: { minutes } })
}
