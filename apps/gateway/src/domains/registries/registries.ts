import { isIP } from 'node:net'
import { REGISTRY_CREDENTIALS_PER_USER_MAX } from '@berth/contract/limits'
import { registryCredential as credentialEntity, type RegistryCredential } from '@berth/contract/registries'
import { and, asc, count, eq, ne } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Clock } from '../../platform/clock.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { lockForUser } from '../../platform/database/user-lock.ts'
import type { Events } from '../../platform/events/events.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { wireOf } from '../../platform/http/wire.ts'
import type { Ids } from '../../platform/ids.ts'
import { isPublicAddress } from '../../platform/public-address.ts'
import type { Sealer } from '../../platform/sealer.ts'
import { forCustomer } from '../customers/customers.ts'
import { accountDeleted } from '../identity/events.ts'
import { askRegistry, type RegistryLogin } from './ask-registry.ts'
import { createCheckLimit } from './check-limit.ts'
import { createCustomerImages } from './customer-images.ts'
import { registryCredentialAdded } from './events.ts'
import { type Outbound, OutboundError } from './outbound.ts'
import { resealAll } from './reseal.ts'
import { registryCredential } from './tables.ts'

export { IMAGE_RULES } from './ask-image.ts'
export type { Outbound } from './outbound.ts'

interface RegistriesDeps {
  db: Database
  clock: Clock
  ids: Ids
  log: Logger
  /** Seals the passwords. */
  sealer: Sealer
  /** Asks the registries. */
  outbound: Outbound
  events: Pick<Events, 'emit' | 'on'>
}

interface CredentialChange {
  name?: string | undefined
  username?: string | undefined
  password?: string | undefined
}

type Row = typeof registryCredential.$inferSelect

const credentialOf = wireOf(credentialEntity)

/** Credentials of container registries (R3.12, R2.25). Passwords go in; only image pulls get them out. */
export function createRegistries({ db, clock, ids, log, sealer, outbound, events }: RegistriesDeps) {
  events.on(accountDeleted, 'registries', async (tx, { userId }) => {
    await lockForUser(tx, 'registry', userId)
    await tx.delete(registryCredential).where(eq(registryCredential.userId, userId))
  })
  const limit = createCheckLimit({ db, clock })

  async function find(userId: string, id: string): Promise<Row> {
    const row = await findOrNull(userId, id)
    if (!row) throw new ApiError('not_found')
    return row
  }

  function rowsOf(userId: string): Promise<Row[]> {
    return db
      .select()
      .from(registryCredential)
      .where(eq(registryCredential.userId, userId))
      .orderBy(asc(registryCredential.name), asc(registryCredential.id))
  }

  async function findOrNull(userId: string, id: string): Promise<Row | null> {
    const [row] = await db.select().from(registryCredential).where(isOwn(userId, id))
    return row ?? null
  }

  async function requireFreeName(tx: Transaction, userId: string, name: string, id: string): Promise<void> {
    const [taken] = await tx
      .select({ id: registryCredential.id })
      .from(registryCredential)
      .where(
        and(
          eq(registryCredential.userId, userId),
          eq(registryCredential.name, name),
          ne(registryCredential.id, id),
        ),
      )
    if (taken) throw new ApiError('validation_failed', { fields: [{ path: 'name', rule: 'name_taken' }] })
  }

  function seal(password: string, id: string, userId: string): Pick<Row, 'password' | 'keyId'> {
    const { box, keyId } = sealer.seal(password, [id, userId])
    return { password: box, keyId }
  }

  function loginOf(row: Row): RegistryLogin {
    const sealed = { box: row.password, keyId: row.keyId }
    const password = sealer.open(sealed, [row.id, row.userId])
    return { registry: row.registry, username: row.username, password }
  }

  return {
    /** A customer's credentials by name, without their passwords. */
    async list(userId: string): Promise<RegistryCredential[]> {
      return (await rowsOf(userId)).map(credentialOf)
    },

    /**
     * Keeps a credential.
     * @throws ApiError `validation_failed` with a rule of `registry` or `name`, or `registry_credential_limit`.
     */
    async add(userId: string, given: RegistryLogin & { name: string }): Promise<RegistryCredential> {
      checkRegistryHost(given.registry, outbound)
      const now = clock.now()
      const id = ids.uuid()
      const row: Row = {
        id,
        userId,
        name: given.name,
        registry: given.registry,
        username: given.username,
        ...seal(given.password, id, userId),
        createdAt: now,
        updatedAt: now,
        checkedAt: null,
        checkResult: null,
      }
      await db.transaction(async tx => {
        await forCustomer(tx, userId)
        await lockForUser(tx, 'registry', userId)
        await requireFreeName(tx, userId, row.name, id)
        const [held] = await tx
          .select({ credentials: count() })
          .from(registryCredential)
          .where(eq(registryCredential.userId, userId))
        if ((held?.credentials ?? 0) >= REGISTRY_CREDENTIALS_PER_USER_MAX) {
          throw new ApiError('registry_credential_limit', {
            values: { limit: REGISTRY_CREDENTIALS_PER_USER_MAX },
          })
        }
        await tx.insert(registryCredential).values(row)
        await events.emit(tx, registryCredentialAdded, { userId, at: now.toISOString(), name: row.name })
      })
      return credentialOf(row)
    },

    /**
     * Changes what is given of a credential. Another username or password was not checked yet.
     * @throws ApiError `not_found`, or `validation_failed` with `name_taken`.
     */
    async edit(
      userId: string,
      id: string,
      { name, username, password }: CredentialChange,
    ): Promise<RegistryCredential> {
      const isOtherLogin = username !== undefined || password !== undefined
      const changes = {
        ...(name !== undefined && { name }),
        ...(username !== undefined && { username }),
        ...(password !== undefined && seal(password, id, userId)),
        ...(isOtherLogin && { checkedAt: null, checkResult: null }),
        updatedAt: clock.now(),
      }
      return db.transaction(async tx => {
        await forCustomer(tx, userId)
        await lockForUser(tx, 'registry', userId)
        const held = await tx
          .select({ id: registryCredential.id })
          .from(registryCredential)
          .where(isOwn(userId, id))
        if (held.length === 0) throw new ApiError('not_found')
        if (name !== undefined) await requireFreeName(tx, userId, name, id)
        const [row] = await tx.update(registryCredential).set(changes).where(isOwn(userId, id)).returning()
        // A removal takes no lock.
        if (!row) throw new ApiError('not_found')
        return credentialOf(row)
      })
    },

    /** Removes a credential. @throws ApiError `not_found`. */
    async remove(userId: string, id: string): Promise<void> {
      await db.transaction(async tx => {
        await forCustomer(tx, userId)
        const removed = await tx
          .delete(registryCredential)
          .where(isOwn(userId, id))
          .returning({ id: registryCredential.id })
        if (removed.length === 0) throw new ApiError('not_found')
      })
    },

    /**
     * Asks the registry whether it takes a credential, and keeps what it said. What was said of a credential that was
     * changed meanwhile is not kept.
     * @throws ApiError `not_found`, `too_many_requests`, or `validation_failed` with `registry_host_private`.
     */
    async check(userId: string, id: string): Promise<RegistryCredential> {
      const row = await find(userId, id)
      const checkResult = await limit.run(userId, () => ask(loginOf(row)))
      await db.transaction(async tx => {
        await forCustomer(tx, userId)
        await tx
          .update(registryCredential)
          .set({ checkedAt: clock.now(), checkResult })
          .where(and(isOwn(userId, id), eq(registryCredential.updatedAt, row.updatedAt)))
      })
      return credentialOf(await find(userId, id))
    },

    /**
     * A credential with its password, for pulling an image. No call ever answers it.
     * @throws ApiError `not_found`.
     */
    async open(userId: string, id: string): Promise<RegistryLogin> {
      return loginOf(await find(userId, id))
    },

    ...createCustomerImages({ clock, outbound, limit, find: findOrNull, list: rowsOf, loginOf }),

    /** Seals again what is sealed under a former key, so that it can be taken away. @returns How many. */
    resealFormer: (): Promise<number> => resealAll({ db, sealer, log }),
  }

  async function ask(login: RegistryLogin) {
    try {
      return await askRegistry(outbound, login)
    } catch (error) {
      if (error instanceof OutboundError && error.fault === 'private')
        throw hostFault('registry_host_private')
      throw error
    }
  }
}
export type Registries = ReturnType<typeof createRegistries>

function isOwn(userId: string, id: string) {
  return and(eq(registryCredential.userId, userId), eq(registryCredential.id, id))
}

/**
 * Refuses what can be told to be wrong of a registry's host without asking anybody.
 * @param host As the contract lets it pass: lower case, perhaps with a port.
 * @throws ApiError with the rule `registry_host` or `registry_host_private`.
 */
function checkRegistryHost(host: string, outbound: Pick<Outbound, 'mayBePrivate'>): void {
  const url = URL.parse(`https://${host}/`)
  const [name = '', port] = host.split(':')
  // An address that is not written out, such as 127.1 or 2130706433, becomes another one in a URL.
  if (!url || url.hostname !== name || port === '0') throw hostFault('registry_host')
  if (outbound.mayBePrivate(host)) return
  const isLocal = name === 'localhost' || name.endsWith('.localhost')
  if (isLocal || (isIP(name) && !isPublicAddress(name))) throw hostFault('registry_host_private')
}

/** The error of a field `registry` that breaks a rule. */
function hostFault(rule: 'registry_host' | 'registry_host_private'): ApiError {
  return new ApiError('validation_failed', { fields: [{ path: 'registry', rule }] })
}
