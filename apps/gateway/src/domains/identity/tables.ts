import { bigint, boolean, index, integer, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { moment } from '../../platform/database/columns.ts'

/** Customers. The login name is the address in lower case. */
export const userAccount = pgTable(
  'user_account',
  {
    id: uuid('id').primaryKey(),
    /** What a customer reads to support; shown as `accountId`. */
    number: bigint('number', { mode: 'number' }).generatedAlwaysAsIdentity({ startWith: 100_001 }).notNull(),
    email: text('email').notNull(),
    displayName: text('display_name').notNull(),
    avatar: text('avatar').notNull().default(''),
    provider: text('provider').notNull().default(''),
    /** argon2id in PHC form; null for an account without a password. */
    passwordHash: text('password_hash'),
    needUpdatePassword: boolean('need_update_password').notNull().default(false),
    emailVerifiedAt: moment('email_verified_at'),
    language: text('language').notNull().default('en'),
    referralCode: text('referral_code'),
    createdAt: moment('created_at').notNull(),
  },
  table => [uniqueIndex('user_account_email').on(table.email)],
)

/** Signed-in sessions. A token is good while its session is neither revoked nor over. */
export const session = pgTable(
  'session',
  {
    id: uuid('id').primaryKey(),
    userId: uuid('user_id')
      .notNull()
      .references(() => userAccount.id),
    createdAt: moment('created_at').notNull(),
    expiresAt: moment('expires_at').notNull(),
    revokedAt: moment('revoked_at'),
    lastSeenAt: moment('last_seen_at').notNull(),
    userAgent: text('user_agent').notNull(),
    address: text('address').notNull(),
  },
  table => [index('session_user').on(table.userId)],
)

/** Links sent by mail or printed at the first start: single-use, expiring, stored as a hash. */
export const linkToken = pgTable(
  'link_token',
  {
    hash: text('hash').primaryKey(),
    purpose: text('purpose', { enum: ['verify_email', 'sign_in', 'reset_password'] }).notNull(),
    userId: uuid('user_id')
      .notNull()
      .references(() => userAccount.id),
    /** The address it was sent to: a changed address makes the link worthless. */
    email: text('email').notNull(),
    createdAt: moment('created_at').notNull(),
    expiresAt: moment('expires_at').notNull(),
    usedAt: moment('used_at'),
  },
  table => [index('link_token_user').on(table.userId, table.purpose, table.createdAt)],
)

/**
 * Attempts that are limited, such as wrong passwords from one network on one account, or mails to one address.
 * Counted in windows: the first one after a window begins the next.
 */
export const attempt = pgTable(
  'attempt',
  {
    /** What is counted, hashed: addresses that nobody registered are counted too and are not to be read here. */
    key: text('key').primaryKey(),
    count: integer('count').notNull(),
    startedAt: moment('started_at').notNull(),
    blockedUntil: moment('blocked_until'),
  },
  table => [index('attempt_started').on(table.startedAt)],
)
