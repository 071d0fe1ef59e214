import { type ConsoleLink, consoleLink } from '@berth/contract/console-links'
import { ERRORS, type ErrorCode } from '@berth/contract/errors'
import { type Language, STOPPED_POD_KEPT_DAYS } from '@berth/contract/limits'
import { centsFloor, formatMicro, microFromCents } from '@berth/contract/money'
import type { NoticeKind } from '@berth/contract/notifications'
import type { MailContent, MailOutbox } from '../../drivers/mail/port.ts'
import type { Say } from '../../platform/config/catalogue-words.ts'
import { errorText } from '../../platform/http/error-texts.ts'
import type {
  AddressFacts,
  AutoTopUpFacts,
  BalanceLowFacts,
  BudgetFacts,
  CreditsEndingFacts,
  DeletionFacts,
  FilmFacts,
  ImageFacts,
  InstanceTroubleFacts,
  KeyAddedFacts,
  NewSignInFacts,
  OfferWatchFacts,
  ReadRecipient,
  Recipient,
  ReferralFacts,
  RefundFacts,
  ResumeFacts,
  TermFacts,
  TopUpPaidFacts,
  TopUpReceiptFacts,
  VolumeFacts,
} from './facts.ts'
import { ADDRESS_TEXTS } from './mails/address-mail.ts'
import { AUTO_TOP_UP_TEXTS, NO_METHOD } from './mails/auto-top-up-mail.ts'
import { BALANCE_LOW_TEXTS } from './mails/balance-low-mail.ts'
import { BUDGET_TEXTS } from './mails/budget-mail.ts'
import { CREDITS_ENDING_TEXTS, endingLine } from './mails/credits-ending-mail.ts'
import { DELETION_TEXTS } from './mails/deletion-mail.ts'
import { FILM_TEXTS } from './mails/film-mail.ts'
import { IMAGE_TEXTS } from './mails/image-mail.ts'
import { INSTANCE_TROUBLE_TEXTS } from './mails/instance-trouble-mail.ts'
import { KEY_ADDED_TEXTS } from './mails/key-added-mail.ts'
import { NEW_SIGN_IN_TEXTS } from './mails/new-sign-in-mail.ts'
import {
  ASKED_FOR,
  cardText,
  durationText,
  lineOf,
  MONEY_AT_STAKE,
  type NoticeTexts,
  noticeMail,
  timeText,
} from './mails/notice-mail.ts'
import { OFFER_WATCH_TEXTS } from './mails/offer-watch-mail.ts'
import { REFERRAL_TEXTS } from './mails/referral-mail.ts'
import { REFUND_TEXTS } from './mails/refund-mail.ts'
import { RESUME_TEXTS } from './mails/resume-mail.ts'
import { TERM_TEXTS } from './mails/term-mail.ts'
import { TOP_UP_RECEIPT_TEXTS } from './mails/top-up-receipt-mail.ts'
import { VOLUME_TEXTS } from './mails/volume-mail.ts'

interface NoticeDeps {
  mail: MailOutbox
  recipient: ReadRecipient
  wants(userId: string, kind: NoticeKind): Promise<boolean>
  say: Say
  publicUrl: () => string
  brandName: () => string
}

/**
 * Names the mails that a customer may switch off. Each job holds facts of its moment; language, address, and whether
 * the mail is wanted are those of the moment in which it goes out.
 * @returns What queues each of them.
 */
export function defineNotices(deps: NoticeDeps) {
  const { mail, recipient, wants } = deps

  /**
   * @param kind The switch that it obeys; null: what is at stake is told whatever the customer has switched off.
   * @param valuesOf What the texts say, made from the job's facts.
   * @param name The queue's, where one switch stands for several mails.
   */
  function define<Facts extends { userId: string }, Values extends object>(
    kind: NoticeKind | null,
    texts: NoticeTexts<Values>,
    /** The page of the console that shows more. */
    pageOf: (facts: Facts) => ConsoleLink,
    valuesOf: (facts: Facts, to: Recipient) => Values,
    name: string = kind?.replaceAll('_', '-') ?? '',
    /** Why it cannot be switched off, where it cannot. */
    why?: Record<Language, string>,
  ) {
    return mail.define<Facts>(name, async (facts): Promise<MailContent | null> => {
      const to = await recipient(facts.userId)
      if (!to || (kind && !(await wants(facts.userId, kind)))) return null
      const links = {
        link: consoleLink(deps.publicUrl(), pageOf(facts)),
        settings: consoleLink(deps.publicUrl(), 'notifications'),
      }
      const values = { ...valuesOf(facts, to), ...links, brand: deps.brandName() }
      return noticeMail(to, texts[to.language], values, { isSwitched: kind !== null, ...(why && { why }) })
    })
  }

  return {
    newSignIn: define(
      'new_sign_in',
      NEW_SIGN_IN_TEXTS,
      () => 'sessions',
      (facts: NewSignInFacts) => ({
        at: timeText(facts.at),
        address: lineOf(facts.address),
        browser: lineOf([facts.browser, facts.system].filter(part => part !== '').join(', ')),
      }),
    ),
    keyAdded: define(
      'key_added',
      KEY_ADDED_TEXTS,
      ({ what }) => KEY_PAGES[what],
      (facts: KeyAddedFacts) => ({
        at: timeText(facts.at),
        what: facts.what,
        name: lineOf(facts.name),
      }),
    ),
    topUpReceipt: define(
      'top_up_receipt',
      TOP_UP_RECEIPT_TEXTS,
      () => 'payments',
      ({ stopped = [], ...facts }: TopUpPaidFacts, to) => ({
        ...paymentValues(facts, to),
        resuming: namesOf(stopped.filter(({ resumes }) => resumes)),
        stopped: namesOf(stopped.filter(({ resumes }) => !resumes)),
      }),
    ),
    resume: define(
      'instance_trouble',
      RESUME_TEXTS,
      () => 'instances',
      (facts: ResumeFacts, { language }) => ({
        name: lineOf(facts.instanceName),
        news: facts.news,
        reason: errorText(
          language,
          facts.failure && isErrorCode(facts.failure.code) ? facts.failure.code : 'internal',
          facts.failure?.values ?? {},
        ),
        next: timeOr('', facts.nextTryAt),
      }),
      'instance-resume',
    ),
    refund: define(
      'top_up_receipt',
      REFUND_TEXTS,
      () => 'payments',
      (facts: RefundFacts, to) => ({ ...paymentValues(facts, to), outcome: facts.outcome }),
      'refund',
    ),
    autoTopUp: define(
      // Not the switch of receipts: who has had enough of those still loses instances when charges fail.
      'balance_low',
      AUTO_TOP_UP_TEXTS,
      () => 'payments',
      (facts: AutoTopUpFacts, { language }) => ({
        news: facts.news,
        amount: formatMicro(microFromCents(facts.amountCents), facts.currency),
        cap: formatMicro(microFromCents(facts.capCents), facts.currency),
        paidWith: cardText(language, facts.card),
        reason: reasonText(language, facts.failure),
        at: timeText(facts.at),
        next: timeOr('', facts.nextTryAt),
      }),
      'auto-top-up',
    ),
    creditsEnding: define(
      // Credits that end are a balance that falls.
      'balance_low',
      CREDITS_ENDING_TEXTS,
      () => 'payments',
      ({ credits, currency }: CreditsEndingFacts, { language }) => {
        const amountOf = (micro: bigint) => formatMicro(microFromCents(centsFloor(micro)), currency)
        return {
          total: amountOf(credits.reduce((sum, { leftMicro }) => sum + BigInt(leftMicro), 0n)),
          last: timeText(credits.at(-1)?.endsAt ?? ''),
          list: credits
            .map(({ endsAt, leftMicro, modelsOnly }) =>
              endingLine(language, {
                amount: amountOf(BigInt(leftMicro)),
                until: timeText(endsAt),
                modelsOnly,
              }),
            )
            .join('\n'),
        }
      },
      'credits-ending',
    ),
    instanceTrouble: define(
      'instance_trouble',
      INSTANCE_TROUBLE_TEXTS,
      () => 'instances',
      (facts: InstanceTroubleFacts) => ({
        at: timeText(facts.at),
        cause: facts.cause,
        names: facts.instanceNames.map(lineOf).join(', '),
      }),
    ),
    term: define(
      'instance_trouble',
      TERM_TEXTS,
      () => 'instances',
      (facts: TermFacts) => ({
        name: lineOf(facts.instanceName),
        outcome: facts.outcome,
        until: timeText(facts.expiryTime),
        price: facts.priceMicro === null ? '' : formatMicro(BigInt(facts.priceMicro), facts.currency),
      }),
      'instance-term',
    ),
    deletion: define(
      null,
      DELETION_TEXTS,
      ({ outcome }: DeletionFacts) => (outcome === 'will_delete_unpaid' ? 'payments' : 'instances'),
      (facts: DeletionFacts) => ({
        name: lineOf(facts.instanceName),
        outcome: facts.outcome,
        since: timeText(facts.stoppedAt),
        until: timeText(facts.keptUntil),
        days: STOPPED_POD_KEPT_DAYS,
      }),
      'instance-deletion',
    ),
    address: define(
      null,
      ADDRESS_TEXTS,
      ({ news }: AddressFacts) => (news === 'given_back_unpaid' ? 'instances' : 'payments'),
      (facts: AddressFacts) => ({
        news: facts.news,
        address: lineOf(facts.address),
        name: lineOf(facts.instanceName),
        until: timeText(facts.until),
      }),
      'address',
    ),
    volume: define(
      null,
      VOLUME_TEXTS,
      ({ deletedOn }: VolumeFacts) => (deletedOn === null ? 'volumes' : 'payments'),
      (facts: VolumeFacts) => ({
        at: timeText(facts.at),
        news: facts.news,
        name: lineOf(facts.volumeName),
        detail: lineOf(facts.detail),
        until: timeOr('', facts.deletedOn ?? facts.readOnlyOn),
      }),
      'volume',
    ),
    image: define(
      null,
      IMAGE_TEXTS,
      ({ news }: ImageFacts) => (news === 'unpaid' || news === 'unpaid_soon' ? 'payments' : 'images'),
      (facts: ImageFacts) => ({
        at: timeText(facts.at),
        news: facts.news,
        name: lineOf(facts.imageName),
        detail: lineOf(facts.detail),
        until: facts.until === null ? '' : timeText(facts.until),
      }),
      'image',
    ),
    offerWatch: define(
      'offer_watch',
      OFFER_WATCH_TEXTS,
      ({ news }: OfferWatchFacts) => WATCH_PAGES[news] ?? 'explore',
      (facts: OfferWatchFacts, { language }) => ({
        at: timeText(facts.at),
        news: facts.news,
        offer: `${facts.gpuCount} × ${deps.say(facts.gpuSpecName, language)}, ${deps.say(facts.regionName, language)}`,
        name: lineOf(facts.instanceName ?? ''),
      }),
    ),
    budget: define(
      // Whoever sets a budget asks for its mails.
      null,
      BUDGET_TEXTS,
      () => 'payments',
      ({
        userId: _,
        until,
        amountCents,
        spentMicro,
        instanceName,
        keyName,
        currency,
        ...facts
      }: BudgetFacts) => ({
        ...facts,
        until: timeText(until),
        amount: formatMicro(microFromCents(amountCents), currency),
        spent: formatMicro(microFromCents(centsFloor(BigInt(spentMicro))), currency),
        of: keyName !== null ? 'key' : instanceName !== null ? 'instance' : 'account',
        name: lineOf(keyName ?? instanceName ?? ''),
      }),
      'budget',
    ),
    film: define(
      // Each is asked for by itself.
      null,
      FILM_TEXTS,
      () => 'video_model',
      ({ at, askedAt, outcome, modelName }: FilmFacts, { language }) => ({
        at: timeText(askedAt ?? at),
        outcome,
        model: deps.say(modelName, language),
      }),
      'film',
      ASKED_FOR,
    ),
    referralEarned: define(
      'top_up_receipt',
      REFERRAL_TEXTS,
      () => 'referral',
      (facts: ReferralFacts) => referralValues(facts),
      'referral-earned',
    ),
    referral: define(
      null,
      REFERRAL_TEXTS,
      () => 'referral',
      (facts: ReferralFacts) => referralValues(facts),
      'referral',
      MONEY_AT_STAKE,
    ),
    balanceLow: define(
      'balance_low',
      BALANCE_LOW_TEXTS,
      () => 'payments',
      (facts: BalanceLowFacts, { language }) => ({
        balance: formatMicro(microFromCents(centsFloor(BigInt(facts.balanceMicro))), facts.currency),
        rate: formatMicro(BigInt(facts.burnMicroPerHour), facts.currency, 4),
        lasts: durationText(language, facts.lastsSeconds),
      }),
    ),
  }
}

/** What mails say of what is earned by referring. */
function referralValues({ news, quarter, amountMicro, feeMicro, currency, until, about }: ReferralFacts) {
  const amountOf = (micro: string) => formatMicro(microFromCents(centsFloor(BigInt(micro))), currency)
  return {
    news,
    quarter: quarter ?? '',
    amount: amountOf(amountMicro),
    fee: feeMicro === null ? '' : amountOf(feeMicro),
    until: timeOr('', until),
    about: lineOf(about ?? ''),
  }
}

/** Instances that one mail names. */
const NAMES_MAX = 20

const WATCH_PAGES: Partial<Record<OfferWatchFacts['news'], ConsoleLink>> = {
  deployed: 'instances',
  instance_limit: 'instances',
  insufficient_balance: 'payments',
  budget_reached: 'payments',
}
const KEY_PAGES = { ssh_key: 'ssh_keys', registry: 'registries', api_key: 'api_keys' } as const

/** What mails say of a payment, whichever way the money went. */
function paymentValues(facts: TopUpReceiptFacts, { language }: Recipient) {
  return {
    at: timeText(facts.at),
    amount: formatMicro(microFromCents(facts.amountCents), facts.currency),
    paidWith: cardText(language, facts.card),
    number: facts.transactionId,
  }
}

/** Why a charge was refused, as a sentence; a code that this version does not know says only that it failed. */
function reasonText(language: Language, failure: string | null): string {
  if (failure === null) return ''
  if (failure === 'payment_method_required') return NO_METHOD[language]
  return errorText(language, isErrorCode(failure) ? failure : 'payment_failed', {})
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code)
}

/** Names of instances, parted by commas; of many the first ones. */
function namesOf(instances: readonly { name: string }[]): string {
  const names = instances.slice(0, NAMES_MAX).map(({ name }) => lineOf(name))
  return instances.length > NAMES_MAX ? `${names.join(', ')} …` : names.join(', ')
}

function timeOr(other: string, moment: string | null): string {
  return moment === null ? other : timeText(moment)
}
