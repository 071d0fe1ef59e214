import { KEY_NAME_CHARS_MAX, SSH_KEYS_PER_USER_MAX } from '@berth/contract/limits'
import { type SshKey, sshKey as sshKeyEntity } from '@berth/contract/ssh-keys'
import { and, asc, count, desc, eq, inArray, sql } from 'drizzle-orm'
import type { Clock } from '../../platform/clock.ts'
import type { Database, Queryable } from '../../platform/database/database.ts'
import { notify } from '../../platform/database/open-database.ts'
import { lockForUser } from '../../platform/database/user-lock.ts'
import type { Events } from '../../platform/events/events.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { wireOf } from '../../platform/http/wire.ts'
import type { Ids } from '../../platform/ids.ts'
import { forCustomer, isOpen, suspensionOf } from '../customers/customers.ts'
import { accountDeleted } from '../identity/events.ts'
import { sshKeyAdded } from './events.ts'
import { createGuestKeys } from './guest-keys.ts'
import { fingerprintOf, type PublicKey, PublicKeyFault, parsePublicKey } from './public-key.ts'
import { sshKey } from './tables.ts'

export type { GuestKeys } from './guest-keys.ts'
export { isSignedBySecurityKey } from './security-key.ts'

/** Told of each key that was removed; the payload is its id. */
export const SSH_KEY_CHANNEL = 'ssh_key'

const keyOf = wireOf(sshKeyEntity)

interface SshKeysDeps {
  db: Database
  clock: Clock
  ids: Ids
  events: Pick<Events, 'emit' | 'on'>
  /** 32 bytes that all gateways have. */
  rootKey: Uint8Array
}

/** Public SSH keys of customers (R1.7), and the gateway's own for virtual machines. */
export function createSshKeys({ db, clock, ids, events, rootKey }: SshKeysDeps) {
  events.on(accountDeleted, 'ssh-keys', async (tx, { userId }) => {
    await lockForUser(tx, 'ssh_key', userId)
    const removed = await tx.delete(sshKey).where(eq(sshKey.userId, userId)).returning({ id: sshKey.id })
    for (const { id } of removed) await notify(tx, SSH_KEY_CHANNEL, id)
  })

  return {
    guestKeys: createGuestKeys(rootKey),

    /** A customer's keys, newest first. */
    async list(userId: string): Promise<SshKey[]> {
      const rows = await db
        .select()
        .from(sshKey)
        .where(eq(sshKey.userId, userId))
        .orderBy(desc(sshKey.createdAt), desc(sshKey.id))
      return rows.map(keyOf)
    },

    /**
     * Adds a key.
     * @param given.name Empty takes the key's comment, else its type.
     * @throws ApiError `validation_failed` with a rule of `public_key`, or `ssh_key_limit`.
     */
    async add(userId: string, given: { name: string; public_key: string }): Promise<SshKey> {
      const key = parse(given.public_key)
      const row = {
        id: ids.uuid(),
        userId,
        name: given.name || nameOf(key),
        type: key.type,
        bits: key.bits,
        fingerprint: key.fingerprint,
        publicKey: key.line,
        createdAt: clock.now(),
      }
      await db.transaction(async tx => {
        await forCustomer(tx, userId)
        await lockForUser(tx, 'ssh_key', userId)
        const added = await tx
          .insert(sshKey)
          .values(row)
          .onConflictDoNothing({ target: [sshKey.userId, sshKey.fingerprint] })
          .returning({ id: sshKey.id })
        if (added.length === 0) throw fault('ssh_key_known')
        const [held] = await tx.select({ keys: count() }).from(sshKey).where(eq(sshKey.userId, userId))
        if ((held?.keys ?? 0) > SSH_KEYS_PER_USER_MAX) {
          throw new ApiError('ssh_key_limit', { values: { limit: SSH_KEYS_PER_USER_MAX } })
        }
        await events.emit(tx, sshKeyAdded, { userId, at: row.createdAt.toISOString(), name: row.name })
      })
      return keyOf(row)
    },

    /** Removes a key. @throws ApiError `not_found` where the customer has none by that id. */
    async remove(userId: string, id: string): Promise<void> {
      await db.transaction(async tx => {
        await forCustomer(tx, userId)
        const removed = await tx
          .delete(sshKey)
          .where(and(eq(sshKey.userId, userId), eq(sshKey.id, id)))
          .returning({ id: sshKey.id })
        if (removed.length === 0) throw new ApiError('not_found')
        await notify(tx, SSH_KEY_CHANNEL, id)
      })
    },

    /**
     * Who has stored a key, of those whose accounts are open; the first one where several have.
     * @param blob The key as SSH sends it.
     * @param userId Asks for one customer's alone; left out: any who has it.
     * @returns The key's fingerprint in any case; null for a key that nobody has.
     */
    async holder(blob: Buffer, userId?: string) {
      const fingerprint = fingerprintOf(blob)
      const isTheirs = userId === undefined ? undefined : eq(sshKey.userId, userId)
      const [key] = await db
        .select({ id: sshKey.id, userId: sshKey.userId, publicKey: sshKey.publicKey })
        .from(sshKey)
        .where(and(eq(sshKey.fingerprint, fingerprint), isTheirs, isOpen(sshKey.userId)))
        .orderBy(asc(sshKey.createdAt), asc(sshKey.id))
        .limit(1)
      return { fingerprint, key: key ?? null }
    },

    /**
     * Refuses keys of which a customer lacks one.
     * @throws ApiError `validation_failed` with `ssh_key_unknown` for the field `ssh_key_ids`.
     */
    async requireOwn(q: Queryable, userId: string, ids: readonly string[]): Promise<void> {
      const wanted = [...new Set(ids)]
      const held = await q
        .select({ id: sshKey.id })
        .from(sshKey)
        .where(and(eq(sshKey.userId, userId), inArray(sshKey.id, wanted)))
      if (held.length === wanted.length) return
      throw new ApiError('validation_failed', {
        fields: [{ path: 'ssh_key_ids', rule: 'ssh_key_unknown' }],
      })
    },

    /** What became of a key that somebody signed in with. */
    async fate(
      userId: string,
      id: string,
    ): Promise<'stored' | 'removed' | 'account_closed' | 'account_suspended'> {
      const [found] = await db
        .select({ isOpen: isOpen(sql`${userId}::uuid`), keyId: sshKey.id })
        .from(sql`(select 1) as one`)
        .leftJoin(sshKey, and(eq(sshKey.userId, userId), eq(sshKey.id, id)))
      if (!found?.isOpen) return (await suspensionOf(db, userId)) ? 'account_suspended' : 'account_closed'
      return found.keyId === null ? 'removed' : 'stored'
    },
  }
}
export type SshKeys = ReturnType<typeof createSshKeys>

function parse(text: string): PublicKey {
  try {
    return parsePublicKey(text)
  } catch (error) {
    // Without the cause: causes are logged, and what was typed may be a secret.
    if (error instanceof PublicKeyFault) throw fault(error.rule)
    throw error
  }
}

function fault(rule: PublicKeyFault['rule']): ApiError {
  return new ApiError('validation_failed', { fields: [{ path: 'public_key', rule }] })
}

/** Cut by characters as people count them, so that none is cut in two. */
function nameOf({ comment, type }: PublicKey): string {
  let name = ''
  for (const { segment } of new Intl.Segmenter().segment(comment)) {
    if (name.length + segment.length > KEY_NAME_CHARS_MAX) break
    name += segment
  }
  return name.trim() || type
}
