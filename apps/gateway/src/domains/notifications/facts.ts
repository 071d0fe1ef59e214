import type { Card } from '@berth/contract/billing'
import type { BudgetPeriod, BudgetShare } from '@berth/contract/budgets'
import type { Currency, Language } from '@berth/contract/limits'
import type { ImageNews } from '../images/events.ts'
import type { ReferralNews } from '../referral/events.ts'
import type { VolumeNews } from '../volumes/events.ts'
import type { OFFER_WATCH_NEWS } from '../watches/events.ts'

/** Who gets a customer's mails. */
export interface Recipient {
  email: string
  language: Language
}

/**
 * The address of a customer's mails; null where none is to be sent: the account is deleted, or nobody has shown that
 * the address is theirs.
 */
export type ReadRecipient = (userId: string) => Promise<Recipient | null>

/** What can be added that lets somebody, or something, in. */
export type KeyKind = 'ssh_key' | 'registry' | 'api_key'

/** Why an instance does not run though its customer wanted it to. */
export type TroubleCause =
  | 'error'
  | 'exited'
  | 'balance_used_up'
  | 'spend_limit_reached'
  | 'budget_reached'
  | 'stopped_by_operator'
  | 'moved_by_operator'

/*
 * What the mail queue keeps of each mail: facts of the moment, as JSON. Moments are ISO 8601.
 */

export interface NewSignInFacts {
  userId: string
  at: string
  address: string
  /** Such as `Firefox`; empty when it is none that is known. */
  browser: string
  /** Such as `Linux`; empty when it is none that is known. */
  system: string
}

export interface KeyAddedFacts {
  userId: string
  at: string
  what: KeyKind
  name: string
}

export interface TopUpReceiptFacts {
  userId: string
  at: string
  transactionId: string
  amountCents: number
  currency: Currency
  /** What was paid with. */
  card: Card
}

/** Of a top-up that was paid, with what it lets start again. */
export interface TopUpPaidFacts extends TopUpReceiptFacts {
  /** What stopped for an empty balance, and whether it starts by itself; mails of a version before do not say it. */
  stopped?: { name: string; resumes: boolean }[]
}

/** Of an instance that was to start again after a top-up, and could not. */
export interface ResumeFacts {
  userId: string
  news: 'failed' | 'given_up'
  instanceName: string
  /** As an error says it. */
  failure: { code: string; values: Record<string, string | number> } | null
  nextTryAt: string | null
}

/** Of a refund or a dispute, or of the part of one that came to us again. */
export interface RefundFacts extends TopUpReceiptFacts {
  outcome: 'given_back' | 'came_back' | 'disputed' | 'dispute_won'
}

/** Of auto top-up: a refusal, its end after several, or a month's cap. */
export interface AutoTopUpFacts {
  userId: string
  at: string
  news: 'declined' | 'turned_off' | 'capped'
  amountCents: number
  capCents: number
  currency: Currency
  /** What it would have charged; empty words where nothing is saved. */
  card: Card
  /** An error code, for what was refused. */
  failure: string | null
  nextTryAt: string | null
}

export interface InstanceTroubleFacts {
  userId: string
  at: string
  cause: TroubleCause
  instanceNames: string[]
}

/** What becomes of an instance that is paid for in advance: what will, days before its end, and what did. */
export type TermOutcome = 'will_renew' | 'will_stop' | 'will_release' | 'renewed' | 'unpaid' | 'released'

export interface TermFacts {
  userId: string
  outcome: TermOutcome
  instanceName: string
  expiryTime: string
  /** Micro-units, as text; null where no term is offered. */
  priceMicro: string | null
  currency: Currency
}

export interface DeletionFacts {
  userId: string
  /** Announced, or done. */
  outcome: 'will_delete' | 'deleted' | 'will_delete_unpaid' | 'deleted_unpaid'
  instanceName: string
  stoppedAt: string
  /** When it is deleted, or was. */
  keptUntil: string
}

export interface AddressFacts {
  userId: string
  news: 'unpaid' | 'unpaid_soon' | 'given_back_unpaid'
  address: string
  instanceName: string
  /** When it is given back, or was. */
  until: string
}

export interface OfferWatchFacts {
  userId: string
  at: string
  news: (typeof OFFER_WATCH_NEWS)[number]
  /** As the catalogue has them in English. */
  gpuSpecName: string
  regionName: string
  gpuCount: number
  instanceName: string | null
}

export interface VolumeFacts {
  userId: string
  at: string
  news: VolumeNews
  volumeName: string
  /** When it is deleted unless money comes; null where it is not. */
  deletedOn: string | null
  /** When instances that start have it read-only, since it is over its size; null where it is not. */
  readOnlyOn: string | null
  /** The engine's own words; empty where there are none. */
  detail: string
}

export interface ImageFacts {
  userId: string
  at: string
  news: ImageNews
  imageName: string
  /** The operator's own words, or the engine's; empty where there are none. */
  detail: string
  /** When it is deleted, or by when the operator answers; null where neither is to come. */
  until: string | null
}

export interface BudgetFacts {
  userId: string
  share: BudgetShare
  period: BudgetPeriod
  /** When it begins anew. */
  until: string
  amountCents: number
  /** Micro-units, as text. */
  spentMicro: string
  currency: Currency
  stops: boolean
  /** Null without a key too: it is the account's. */
  instanceName: string | null
  keyName: string | null
}

export interface BalanceLowFacts {
  userId: string
  /** The alert that it is, as the customer chose it. */
  hours: number
  /** How long the balance lasts by now. */
  lastsSeconds: number
  /** Micro-units, as text. */
  balanceMicro: string
  burnMicroPerHour: string
  currency: Currency
}

/** Of what is earned by referring. */
export interface ReferralFacts {
  userId: string
  news: ReferralNews
  quarter: string | null
  currency: Currency
  /** Micro-units, as text. */
  amountMicro: string
  feeMicro: string | null
  until: string | null
  /** The friend with a masked address, or the PayPal account. */
  about: string | null
}

/** Of credits that are about to end. */
export interface CreditsEndingFacts {
  userId: string
  currency: Currency
  /** The nearest end first; `leftMicro` in micro-units, as text. */
  credits: { endsAt: string; leftMicro: string; modelsOnly: boolean }[]
}

/** A film that somebody wanted to be told of. */
export interface FilmFacts {
  userId: string
  at: string
  /** When it was asked for. Mails that a version before has queued do not say it. */
  askedAt?: string | undefined
  outcome: 'ready' | 'failed'
  /** The catalogue's, in English. */
  modelName: string
}
