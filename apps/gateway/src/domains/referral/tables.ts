import { CURRENCIES } from '@berth/contract/limits'
import {
  QUARTER_STATES,
  REFERRAL_REASONS,
  REFERRAL_REWARD_KINDS,
  REFERRAL_STATES,
  REWARD_TYPES,
} from '@berth/contract/referral'
import { sql } from 'drizzle-orm'
import {
  check,
  date,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { amount, moment } from '../../platform/database/columns.ts'

/** How two accounts are known to be one person's, the surest first; said to operators alone. */
export const SAME_PERSON_BY = ['card', 'paypal', 'device'] as const

/** The code of an account's link, for good. */
export const referralCode = pgTable(
  'referral_code',
  {
    userId: uuid('user_id').primaryKey(),
    code: text('code').notNull(),
    createdAt: moment('created_at').notNull(),
  },
  table => [uniqueIndex('referral_code_code').on(table.code)],
)

/** A friend who signed up by somebody's code: an account has one referrer at most, for good. */
export const referral = pgTable(
  'referral',
  {
    id: uuid('id').primaryKey(),
    /** The friend. */
    friendId: uuid('friend_id').notNull(),
    referrerId: uuid('referrer_id').notNull(),
    /** The friend's address as the referrer sees it; null once the friend's account is deleted. */
    maskedEmail: text('masked_email'),
    registeredAt: moment('registered_at').notNull(),
    /** Of both wallets; another one of the friend's is a reason that it does not count. */
    currency: text('currency', { enum: CURRENCIES }).notNull(),
    state: text('state', { enum: REFERRAL_STATES }).notNull(),
    reason: text('reason', { enum: REFERRAL_REASONS }),
    /** Set for good: the friend is their own referrer, or somebody for whom a reward was given before. */
    samePersonBy: text('same_person_by', { enum: SAME_PERSON_BY }),
    /** Who of all accounts the friend is. */
    samePersonAs: uuid('same_person_as'),
    samePersonAt: moment('same_person_at'),
    /** The friend's first payment, and what of all payments has stayed. */
    firstPaidAt: moment('first_paid_at'),
    firstPaidMicro: amount('first_paid_micro'),
    paidMicro: amount('paid_micro').notNull().default(sql`0`),
    /** When it counted for the first time: the friend's credit is given then, once. */
    reachedAt: moment('reached_at'),
    friendGrantId: uuid('friend_grant_id'),
    /** The friend's credit ended, because what was paid in went back. */
    friendGrantEndedAt: moment('friend_grant_ended_at'),
    /** What the friend had spent in cash when it was reckoned last: whoever sees another sum reckons again. */
    cashSeenMicro: amount('cash_seen_micro').notNull().default(sql`0`),
    /** Cash × rate of all that was reckoned, in parts of a micro-unit (`RATE_PARTS`): rebates are its floor. */
    rebateParts: amount('rebate_parts').notNull().default(sql`0`),
  },
  table => [
    uniqueIndex('referral_friend').on(table.friendId),
    index('referral_referrer').on(table.referrerId, table.registeredAt, table.id),
    index('referral_counting').on(table.id).where(sql`${table.state} = 'recharged'`),
    index('referral_same_person').on(table.samePersonAt).where(sql`${table.samePersonBy} is not null`),
    check('referral_sides', sql`${table.friendId} <> ${table.referrerId}`),
    check('referral_reason', sql`(${table.state} = 'invalid') = (${table.reason} is not null)`),
  ],
)

/**
 * Cards, PayPal accounts and browsers of those who were rewarded, as friends or as referrers, each as a hash and of whoever
 * had it first: nobody else is rewarded for it. Those of deleted accounts stay, since else one would delete and come again.
 */
export const rewardedMark = pgTable(
  'referral_rewarded_mark',
  {
    kind: text('kind', { enum: SAME_PERSON_BY }).notNull(),
    hash: text('hash').notNull(),
    userId: uuid('user_id').notNull(),
  },
  table => [
    primaryKey({ columns: [table.kind, table.hash] }),
    index('referral_rewarded_mark_user').on(table.userId),
  ],
)

/**
 * What was earned for what: a friend's first top-ups, or what they spent on a UTC day; by the quarter that it counts in. Each
 * change of a row has its entry in the ledger, so that the row is the sum of its entries.
 */
export const referralReward = pgTable(
  'referral_reward',
  {
    id: uuid('id').primaryKey(),
    referralId: uuid('referral_id')
      .notNull()
      .references(() => referral.id),
    /** Who earns it. */
    userId: uuid('user_id').notNull(),
    kind: text('kind', { enum: REFERRAL_REWARD_KINDS }).notNull(),
    day: date('day', { mode: 'string' }).notNull(),
    quarter: text('quarter').notNull(),
    orderAt: moment('order_at').notNull(),
    /** What was paid in, or what the day's usage cost, and what of it was paid in cash. */
    orderMicro: amount('order_micro').notNull(),
    cashMicro: amount('cash_micro').notNull(),
    /** Hundredths of a percent; null of first top-ups. */
    rateHundredths: integer('rate_hundredths'),
    amountMicro: amount('amount_micro').notNull(),
    /** How often it was booked; part of the entries' keys. */
    entries: integer('entries').notNull(),
  },
  table => [
    uniqueIndex('referral_reward_of').on(table.referralId, table.kind, table.day, table.quarter),
    index('referral_reward_user').on(table.userId, table.orderAt, table.id),
    index('referral_reward_quarter').on(table.userId, table.quarter),
  ],
)

/**
 * How a quarter of an account is settled. The row is made by a choice, or as the quarter is closed; before that what was
 * earned stands in the rewards alone.
 */
export const referralSettlement = pgTable(
  'referral_settlement',
  {
    userId: uuid('user_id').notNull(),
    quarter: text('quarter').notNull(),
    currency: text('currency', { enum: CURRENCIES }).notNull(),
    state: text('state', { enum: QUARTER_STATES }).notNull(),
    rewardType: text('reward_type', { enum: REWARD_TYPES }),
    /** When the choice was made; null where nobody made it. */
    chosenAt: moment('chosen_at'),
    closedAt: moment('closed_at'),
    /** What came from quarters before, and that with what was earned in this one. */
    carriedInMicro: amount('carried_in_micro').notNull().default(sql`0`),
    amountMicro: amount('amount_micro').notNull().default(sql`0`),
    chooseUntil: moment('choose_until'),
    remindedAt: moment('reminded_at'),
    payoutAt: moment('payout_at'),
    /** What arrived or is on its way, what the house keeps of it, and what is left for a later quarter. */
    netMicro: amount('net_micro').notNull().default(sql`0`),
    feeMicro: amount('fee_micro').notNull().default(sql`0`),
    restMicro: amount('rest_micro').notNull().default(sql`0`),
    /** The quarter that took the rest. */
    carriedTo: text('carried_to'),
    /** The lot of credits that settled it. */
    grantId: uuid('grant_id'),
    paypalEmail: text('paypal_email'),
    paidAt: moment('paid_at'),
    failure: text('failure', { enum: ['account_refused', 'account_unknown', 'not_accepted', 'other'] }),
  },
  table => [
    primaryKey({ columns: [table.userId, table.quarter] }),
    index('referral_settlement_open')
      .on(table.chooseUntil)
      .where(sql`${table.state} in ('choosing', 'failed', 'to_be_paid')`),
    check('referral_settlement_closed', sql`(${table.state} = 'open') = (${table.closedAt} is null)`),
    check(
      'referral_settlement_sums',
      sql`${table.netMicro} >= 0 and ${table.feeMicro} >= 0 and (${table.state} = 'open'
        or ${table.state} in ('choosing', 'failed', 'to_be_paid')
        or ${table.amountMicro} = ${table.netMicro} + ${table.feeMicro} + ${table.restMicro})`,
    ),
  ],
)

/** Where money is paid to. */
export const paypalAccount = pgTable(
  'paypal_account',
  {
    userId: uuid('user_id').primaryKey(),
    email: text('email').notNull(),
    confirmedAt: moment('confirmed_at'),
    /** Hash of what the newest link that was mailed there holds, and until when it counts. */
    tokenHash: text('token_hash'),
    tokenUntil: moment('token_until'),
    mailedAt: moment('mailed_at').notNull(),
    createdAt: moment('created_at').notNull(),
  },
  table => [index('paypal_account_email').on(table.email)],
)

/**
 * Money that is to be paid, or was: written before anybody is asked to pay it, with its id as the key that pays it once. A
 * quarter has one that has not failed at most.
 */
export const referralPayout = pgTable(
  'referral_payout',
  {
    id: uuid('id').primaryKey(),
    userId: uuid('user_id').notNull(),
    quarter: text('quarter').notNull(),
    email: text('email').notNull(),
    cents: integer('cents').notNull(),
    feeMicro: amount('fee_micro').notNull(),
    currency: text('currency', { enum: CURRENCIES }).notNull(),
    /** Who pays: a driver's name. */
    driver: text('driver').notNull(),
    /**
     * Waits; whoever pays may have it already; they have it; it was paid; it did not arrive; nobody knows, and an operator says.
     */
    state: text('state', { enum: ['queued', 'sending', 'sent', 'paid', 'failed', 'unclear'] }).notNull(),
    /** The driver's name of it, or that of the file that it was exported with. */
    batchId: text('batch_id'),
    failure: text('failure'),
    /** What whoever paid it by hand said of it. */
    reference: text('reference'),
    createdAt: moment('created_at').notNull(),
    sentAt: moment('sent_at'),
    finishedAt: moment('finished_at'),
    /** When the driver is asked next; null where it is not. */
    lookAt: moment('look_at'),
  },
  table => [
    uniqueIndex('referral_payout_once')
      .on(table.userId, table.quarter)
      .where(sql`${table.state} <> 'failed'`),
    index('referral_payout_due').on(table.lookAt).where(sql`${table.lookAt} is not null`),
    index('referral_payout_created').on(table.createdAt, table.id),
    check('referral_payout_cents', sql`${table.cents} > 0`),
    check(
      'referral_payout_finished',
      sql`(${table.state} in ('paid', 'failed')) = (${table.finishedAt} is not null)`,
    ),
  ],
)
