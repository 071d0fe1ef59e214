import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { COOKIE_MAX_AGE_S } from '@berth/contract/limits'
import { and, desc, eq, gt, isNull, lt, or, sql } from 'drizzle-orm'
import type { Clock } from '../clock.ts'
import type { Database, Transaction } from '../database/database.ts'
import { notify, type OpenDatabase } from '../database/open-database.ts'
import type { Ids } from '../ids.ts'
import type { Logger } from '../log.ts'
import { createSealer, type Sealer } from '../sealer.ts'
import { deriveKey, type Secrets } from '../secrets.ts'
import type { FormerSecrets } from './folder-secrets.ts'
import { keptSecret } from './tables.ts'
import { type TokenKey, type TokenKeys, tokenKeyOf } from './token-keys.ts'

type Loaded = Omit<Secrets, 'tokenKeys'> & { tookOver: boolean }
type Row = typeof keptSecret.$inferSelect

/** A key that tokens are checked with, until it ends. */
interface Verifying {
  key: TokenKey
  endsAt: Date | null
}

interface KnownKeys {
  signing: TokenKey
  all: Map<string, Verifying>
}

/** Told when a token key was replaced; the payload is the new one's name. */
const CHANNEL = 'token_keys'
/** Any number that nobody else locks: gateways that start together make one set of secrets. */
const LOCK_ID = 7_366_214_906
/** What its sealer is for. */
export const KEPT_SECRETS_PURPOSE = 'berth installation secrets'
const SEED_BYTES = 32
/** A token lasts as long as the console's cookies; its key is believed a day longer. */
const REPLACED_KEPT_MS = COOKIE_MAX_AGE_S * 1_000 + 24 * 3_600_000
/**
 * Tokens with unknown key names ask the database no more often than this, all of them together, and wait for it: so
 * those that are made up cost little, and keep no new one waiting for longer.
 */
const LOOK_AGAIN_MS = 250
const KEY_NAME = /^[0-9a-f]{16}$/

interface KeptSecretsDeps {
  db: Database
  clock: Clock
  ids: Pick<Ids, 'secret'>
  log: Pick<Logger, 'info' | 'warn'>
  /** The first seals, all of them open. */
  masterKeys: readonly [Uint8Array, ...Uint8Array[]]
}

export type KeptSecrets = ReturnType<typeof createKeptSecrets>

/** The installation's secrets as the database keeps them, sealed. */
export function createKeptSecrets({ db, clock, ids, log, masterKeys }: KeptSecretsDeps) {
  const sealer = createSealer({ keys: masterKeys, purpose: KEPT_SECRETS_PURPOSE, ids })

  /**
   * Reads what is kept, or makes it.
   * @param former What a version before kept in this computer's data folder.
   * @returns Also whether that was taken over.
   * @throws Error with words for the operator.
   */
  async function load(former: FormerSecrets | null): Promise<Loaded> {
    return await db.transaction(async tx => {
      await tx.execute(sql`select pg_advisory_xact_lock(${LOCK_ID})`)
      const rows = await tx.select().from(keptSecret)
      const root = rows.find(({ id }) => id === 'root')
      const made = !root || root.purpose === 'awaited' ? await make(tx, root ?? null, former) : null
      if (made) return made
      const count = await reseal(tx, rows)
      if (count > 0) log.info({ count }, 'the installation’s secrets are sealed under the new key')
      const rootKey = opened(sealer, root as Row)
      if (former && !Buffer.from(former.rootKey).equals(rootKey)) throw new Error(FOREIGN_FOLDER)
      const name = rows.find(({ id }) => id === 'installation')
      if (!name) throw new Error('The database has lost the name of this installation.')
      return { rootKey, installationId: opened(sealer, name).toString('utf8'), tookOver: false }
    })
  }

  /** The first start on this database, or the first of a version that keeps them there. */
  async function make(tx: Transaction, awaited: Row | null, former: FormerSecrets | null): Promise<Loaded> {
    if (awaited && !former) throw new Error(AWAITED)
    const rootKey = Buffer.from(former?.rootKey ?? randomBytes(SEED_BYTES))
    const installationId = former?.installationId ?? randomBytes(6).toString('hex')
    // Tokens of the version before were signed with this one.
    const seed = former ? deriveKey(rootKey, 'berth access token') : randomBytes(SEED_BYTES)
    await tx.delete(keptSecret)
    await tx
      .insert(keptSecret)
      .values([
        row('root', 'root', rootKey),
        row('installation', 'installation', Buffer.from(installationId)),
        row(tokenKeyOf(seed).id, 'token', seed),
      ])
    return { rootKey, installationId, tookOver: awaited !== null }
  }

  function row(id: string, purpose: Row['purpose'], secret: Buffer): Row {
    const { box, keyId } = sealer.seal(secret.toString('base64url'), [id])
    return { id, purpose, box, keyId, createdAt: clock.now(), endsAt: null }
  }

  /** Seals under the first key what is sealed under another. */
  async function reseal(tx: Transaction, rows: Row[]): Promise<number> {
    const stale = rows.filter(({ keyId }) => keyId !== sealer.keyId)
    for (const old of stale) {
      const { box, keyId } = row(old.id, old.purpose, opened(sealer, old))
      await tx.update(keptSecret).set({ box, keyId }).where(eq(keptSecret.id, old.id))
    }
    return stale.length
  }

  async function readTokenKeys(): Promise<KnownKeys> {
    const isGood = or(isNull(keptSecret.endsAt), gt(keptSecret.endsAt, clock.now()))
    const rows = await db
      .select()
      .from(keptSecret)
      .where(and(eq(keptSecret.purpose, 'token'), isGood))
    const all = new Map(
      rows.map(one => [one.id, { key: tokenKeyOf(opened(sealer, one)), endsAt: one.endsAt }]),
    )
    const signing = [...all.values()].find(({ endsAt }) => endsAt === null)?.key
    if (!signing) throw new Error('The database has lost the key that tokens are signed with.')
    return { signing, all }
  }

  /** Reads the token keys and keeps up with what other gateways and the operator do to them. */
  async function followTokenKeys(listen: OpenDatabase['listen']): Promise<TokenKeys> {
    let known = await readTokenKeys()
    let lookedAtMs = clock.now().getTime()
    let nextLook: Promise<void> | null = null
    const listeners: (() => void)[] = []

    async function lookAgain(): Promise<void> {
      lookedAtMs = clock.now().getTime()
      const before = namesOf(known)
      try {
        known = await readTokenKeys()
      } catch (error) {
        log.warn({ err: error }, 'the keys of tokens could not be read again; those known stay')
      }
      if (namesOf(known) === before) return
      for (const heard of listeners) heard()
    }

    /** A look that begins from now on: one that is under way may have come too early. */
    function lookSoon(): Promise<void> {
      nextLook ??= (async () => {
        const sinceMs = clock.now().getTime() - lookedAtMs
        if (sinceMs < LOOK_AGAIN_MS) await delay(Math.min(LOOK_AGAIN_MS - sinceMs, LOOK_AGAIN_MS))
        nextLook = null
        await lookAgain()
      })()
      return nextLook
    }
    // Lives as long as the connection that it listens on.
    await listen(
      CHANNEL,
      () => void lookAgain(),
      () => void lookAgain(),
    )

    // A key may end long after it was read.
    const isGood = ({ endsAt }: Verifying) => endsAt === null || endsAt > clock.now()

    return {
      signing: () => known.signing,
      async verifying(id) {
        if (id === undefined) return [...known.all.values()].filter(isGood).map(({ key }) => key)
        if (!known.all.has(id) && KEY_NAME.test(id)) await lookSoon()
        const found = known.all.get(id)
        return found && isGood(found) ? [found.key] : []
      },
      onChange(heard) {
        listeners.push(heard)
      },
    }
  }

  return {
    load,
    followTokenKeys,

    /** Keys that tokens are believed by: the one that signs, and those before it until they end. The newest first. */
    listTokenKeys: (): Promise<{ id: string; createdAt: Date; endsAt: Date | null }[]> =>
      db
        .select({ id: keptSecret.id, createdAt: keptSecret.createdAt, endsAt: keptSecret.endsAt })
        .from(keptSecret)
        .where(
          and(
            eq(keptSecret.purpose, 'token'),
            or(isNull(keptSecret.endsAt), gt(keptSecret.endsAt, clock.now())),
          ),
        )
        .orderBy(desc(keptSecret.createdAt)),

    /**
     * Makes a new key for tokens. The one before is believed as long as its tokens last.
     * @param atOnce Believes the ones before no longer: everybody is signed out.
     * @returns The new key's name.
     */
    async replaceTokenKey({ atOnce }: { atOnce: boolean }): Promise<string> {
      const seed = randomBytes(SEED_BYTES)
      const { id } = tokenKeyOf(seed)
      const now = clock.now()
      await db.transaction(async tx => {
        await tx.execute(sql`select pg_advisory_xact_lock(${LOCK_ID})`)
        await tx
          .update(keptSecret)
          .set({ endsAt: atOnce ? now : new Date(now.getTime() + REPLACED_KEPT_MS) })
          .where(and(eq(keptSecret.purpose, 'token'), atOnce ? undefined : isNull(keptSecret.endsAt)))
        await tx.delete(keptSecret).where(lt(keptSecret.endsAt, now))
        await tx.insert(keptSecret).values(row(id, 'token', seed))
        await notify(tx, CHANNEL, id)
      })
      return id
    },
  }
}

/** The same for the same keys with the same ends. */
function namesOf({ all }: KnownKeys): string {
  return [...all]
    .map(([id, { endsAt }]) => `${id} ${endsAt?.toISOString() ?? ''}`)
    .sort()
    .join()
}

const AWAITED =
  'The version before kept the keys of this database in a data folder. Start this version once with BERTH_DATA_DIR ' +
  'set to that folder; the keys move into the database. If the folder is lost, everybody is signed out and registry ' +
  "passwords are lost: to begin again with new keys, run  delete from kept_secret where purpose = 'awaited'"
const FOREIGN_FOLDER =
  'The keys in secrets.json of the data folder are those of another database. Set BERTH_DATA_DIR to another folder, ' +
  'or DATABASE_URL to the database that belongs to this one.'
const UNKNOWN_KEY =
  'The secrets of this installation are sealed in the database under a key that this gateway was not given. Several ' +
  'gateways, or one without its former data folder, need the same BERTH_MASTER_KEY; to begin with one, set it on the ' +
  'gateway that has the former data folder and start that first. After a change, the former key belongs into ' +
  'BERTH_MASTER_KEY_FORMER.'

/** @throws Error with words for the operator when no known key opens it. */
function opened(sealer: Sealer, { id, box, keyId }: Row): Buffer {
  if (!sealer.knows(keyId)) throw new Error(UNKNOWN_KEY)
  return Buffer.from(sealer.open({ box, keyId }, [id]), 'base64url')
}
