import {
  bigint,
  boolean,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
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
    /** Its id at the identity service, where that is not the embedded one. */
    externalId: text('external_id'),
    /** When that service last said what stands here. */
    externalSeenAt: moment('external_seen_at'),
    /** When the gateway last set a password there, by the database's clock: a sign-in that began before opens nothing. */
    externalPasswordAt: moment('external_password_at'),
    createdAt: moment('created_at').notNull(),
    /** When its owner deleted it: what names a person is gone then, the row stays for the books. */
    deletedAt: moment('deleted_at'),
  },
  table => [
    uniqueIndex('user_account_email').on(table.email),
    uniqueIndex('user_account_external').on(table.externalId),
  ],
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
    /** The token that an identity service gave for it, sealed; null where none did. */
    externalToken: text('external_token'),
    /** When whoever has it last showed who they are. */
    provenAt: moment('proven_at').notNull(),
  },
  table => [index('session_user').on(table.userId)],
)

/** Browsers that an account was signed in from, as hashes of the marks that they keep: the newest of each account. */
export const accountDevice = pgTable(
  'account_device',
  {
    userId: uuid('user_id')
      .notNull()
      .references(() => userAccount.id),
    markHash: text('mark_hash').notNull(),
    seenAt: moment('seen_at').notNull(),
  },
  table => [
    primaryKey({ columns: [table.userId, table.markHash] }),
    index('account_device_seen').on(table.userId, table.seenAt),
  ],
)

/** Codes that were mailed to confirm who has a session; the newest one of each. */
export const signInCode = pgTable('sign_in_code', {
  sessionId: uuid('session_id')
    .primaryKey()
    .references(() => session.id, { onDelete: 'cascade' }),
  /** Keyed, since its digits are few. */
  codeHash: text('code_hash').notNull(),
  expiresAt: moment('expires_at').notNull(),
  /** How often one was typed, right or wrong. */
  tries: integer('tries').notNull(),
})

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

/** Identities at other services that sign in to an account. One identity belongs to one account. */
export const linkedIdentity = pgTable(
  'linked_identity',
  {
    id: uuid('id').primaryKey(),
    userId: uuid('user_id')
      .notNull()
      .references(() => userAccount.id),
    /** Name of the provider in the settings. */
    provider: text('provider').notNull(),
    /** Who they are there: lasting, where names and addresses change. */
    subject: text('subject').notNull(),
    username: text('username').notNull(),
    email: text('email').notNull(),
    linkedAt: moment('linked_at').notNull(),
  },
  table => [
    uniqueIndex('linked_identity_subject').on(table.provider, table.subject),
    uniqueIndex('linked_identity_user').on(table.userId, table.provider),
  ],
)

/** Visits to another service that have begun: what the way back is checked against. */
export const providerVisit = pgTable(
  'provider_visit',
  {
    /** Hash of the state that went along. */
    stateHash: text('state_hash').primaryKey(),
    provider: text('provider').notNull(),
    purpose: text('purpose', { enum: ['signup', 'signin', 'link'] }).notNull(),
    /** Who links; null for signing in. */
    userId: uuid('user_id').references(() => userAccount.id),
    /** Hash of what only the browser that began it knows. */
    browserKeyHash: text('browser_key_hash').notNull(),
    nonce: text('nonce').notNull(),
    codeVerifier: text('code_verifier').notNull(),
    redirectUri: text('redirect_uri').notNull(),
    createdAt: moment('created_at').notNull(),
    expiresAt: moment('expires_at').notNull(),
    usedAt: moment('used_at'),
  },
  table => [index('provider_visit_expires').on(table.expiresAt)],
)

/** Captchas that were shown: good once, for a few minutes. */
export const captcha = pgTable(
  'captcha',
  {
    id: text('id').primaryKey(),
    /** Keyed hashes of the answers that are taken: what the picture shows, and what the question asks for. */
    imageAnswerHash: text('image_answer_hash').notNull(),
    questionAnswerHash: text('question_answer_hash').notNull(),
    expiresAt: moment('expires_at').notNull(),
    usedAt: moment('used_at'),
  },
  table => [index('captcha_expires').on(table.expiresAt)],
)
