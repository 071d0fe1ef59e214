import { ACCOUNT_TOKENS_PER_MINUTE_MAX } from '@berth/contract/limits'
import { ApiError } from '../../platform/http/api-error.ts'
import type { RateCounts } from '../../platform/http/rate-counts.ts'
import type { ModelCaller } from './calls/call-book.ts'

const WINDOW_MS = 60_000

/** Who calls, and how many tokens a key of theirs may use in a minute; null as many as the account. */
interface Holder {
  userId: string
  keyId: string | null
  tokensPerMinute: number | null
}

/** One count that a call was taken to. */
interface Taken {
  /** Gives back what was not used after all, or takes what was used beyond, as long as its minute runs. */
  settle(tokens: number): void
  limit: number
  left: number
  ttlMs: number
}

/**
 * Tokens in a minute, over all gateways: of a key that its customer has limited to the token (decision 0136), of an account
 * to a twentieth. Before a call is asked it is counted by what it is to use, with the longest answer; once it is over, by what
 * it has used. One call alone is never too many: it counts as a whole minute at the most.
 */
export function createTokenRates(
  counts: Pick<RateCounts, 'shared' | 'amounts'>,
  { accountMax = ACCOUNT_TOKENS_PER_MINUTE_MAX }: { accountMax?: number } = {},
) {
  const ofKey = counts.amounts('v1 tokens')
  const ofAccount = counts.shared('model tokens')

  async function take(
    count: typeof ofKey,
    { key, max, tokens }: { key: string; max: number; tokens: number },
  ): Promise<Taken> {
    const rule = { max, windowMs: WINDOW_MS }
    const counted = Math.min(tokens, max)
    const { current, ttlMs } = await count(key, rule, counted)
    const endsMs = performance.now() + ttlMs
    const settle = (used: number) => {
      const more = Math.min(used, max) - counted
      // In the minute after it nothing of it was counted.
      if (more !== 0 && performance.now() < endsMs)
        void Promise.resolve(count(key, rule, more)).catch(() => undefined)
    }
    if (current <= max) return { settle, limit: max, left: max - current, ttlMs }
    settle(0)
    throw new TokensOver({ limit: max, left: Math.max(0, max - (current - counted)), ttlMs })
  }

  return {
    /**
     * What a call is made with so that it is counted.
     * @param told Is given the fields that OpenAI's clients read of it, also where the call is refused.
     */
    of(
      { userId, keyId, tokensPerMinute }: Holder,
      told: Record<string, string> = {},
    ): Pick<ModelCaller, 'onAsked' | 'onUsed'> {
      let taken: Taken[] = []
      const onUsed = (tokens: number) => {
        for (const one of taken) one.settle(tokens)
        taken = []
      }
      return {
        async onAsked(tokens) {
          if (tokens === 0) return
          try {
            taken.push(await take(ofAccount, { key: userId, max: accountMax, tokens }))
            if (keyId !== null && tokensPerMinute !== null)
              taken.push(await take(ofKey, { key: keyId, max: tokensPerMinute, tokens }))
          } catch (error) {
            onUsed(0)
            if (error instanceof TokensOver) Object.assign(told, fieldsOf(error.rate))
            throw error
          }
          // What is told is the narrower of the two.
          const [narrowest] = taken.toSorted((one, other) => one.left - other.left)
          if (narrowest) Object.assign(told, fieldsOf(narrowest))
        },
        onUsed,
      }
    },
  }
}
export type TokenRates = ReturnType<typeof createTokenRates>

type Rate = Pick<Taken, 'limit' | 'left' | 'ttlMs'>

/** More tokens than there are in this minute. */
class TokensOver extends ApiError {
  readonly rate: Rate

  constructor(rate: Rate) {
    super('too_many_requests', { values: { seconds: secondsOf(rate.ttlMs) } })
    this.rate = rate
  }
}

const secondsOf = (ttlMs: number) => Math.max(1, Math.ceil(ttlMs / 1_000))

function fieldsOf({ limit, left, ttlMs }: Rate): Record<string, string> {
  return {
    'x-ratelimit-limit-tokens': String(limit),
    'x-ratelimit-remaining-tokens': String(left),
    'x-ratelimit-reset-tokens': `${secondsOf(ttlMs)}s`,
  }
}
