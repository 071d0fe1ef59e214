import type { ErrorCode } from '@berth/contract/errors'
import type { OfferWatchHold } from '@berth/contract/offer-watches'
import { ApiError } from '../../platform/http/api-error.ts'

/** Thrown into a deploy, which then does nothing: the watch has ended meanwhile, or an hour costs more than it may. */
export class NotNow extends Error {
  readonly why: 'ended' | 'price_above'
  constructor(why: NotNow['why']) {
    super(why)
    this.why = why
  }
}

/** What a deploy that failed means for its watch. */
export type FailedDeploy =
  /**
   * Nothing is wrong with it: it waits on, and is tried again. `taken`: the stock went to somebody else; `no_address`: there
   * is none of its own for it; `away`: whom it needs does not answer.
   */
  | { is: 'passing'; because: 'taken' | 'no_address' | 'away' }
  /** Its customer can do something about it: that is told, and it is tried again. */
  | { is: 'held'; by: OfferWatchHold }
  /** It cannot be deployed as it was set up: it ends, and that is told. */
  | { is: 'refused' }
  /** There is nothing to deploy for any more. */
  | { is: 'over' }
  /** Nobody thought of it: it is tried again, and the operator is told. */
  | { is: 'unknown' }

/** By the code that a deploy is refused with. One that is not named is `unknown`. */
const BY_CODE: Partial<Record<ErrorCode, FailedDeploy>> = {
  gpu_sold_out: { is: 'passing', because: 'taken' },
  public_ip_sold_out: { is: 'passing', because: 'no_address' },
  compute_unavailable: { is: 'passing', because: 'away' },
  unavailable: { is: 'passing', because: 'away' },
  // Its region or its GPUs were taken off the catalogue a moment ago: they may come back, as what is sold out.
  region_not_supported: { is: 'passing', because: 'away' },
  region_draining: { is: 'passing', because: 'away' },
  gpu_spec_unknown: { is: 'passing', because: 'away' },
  insufficient_balance: { is: 'held', by: 'insufficient_balance' },
  budget_reached: { is: 'held', by: 'budget_reached' },
  instance_limit: { is: 'held', by: 'instance_limit' },
  validation_failed: { is: 'refused' },
  image_unknown: { is: 'refused' },
  kind_not_supported: { is: 'refused' },
  // Its row goes with the account.
  login_expired: { is: 'over' },
  // It may be let in again, and its watch waits until then.
  account_suspended: { is: 'passing', because: 'away' },
}

/** Rules of a field that are broken for now, by somebody else than who has filled it in. */
const PASSING_RULES: ReadonlySet<string> = new Set(['image_registry_away'])

/** What the error of a deploy means for the watch that it was made for. */
export function failedDeployOf(error: unknown): FailedDeploy {
  if (error instanceof NotNow) {
    return error.why === 'ended' ? { is: 'over' } : { is: 'held', by: error.why }
  }
  if (!(error instanceof ApiError)) return { is: 'unknown' }
  const fields = error.fields ?? []
  if (fields.length > 0 && fields.every(({ rule }) => PASSING_RULES.has(rule))) {
    return { is: 'passing', because: 'away' }
  }
  return BY_CODE[error.code] ?? { is: 'unknown' }
}
