import {
  type DeploySetup,
  type DeployTemplate,
  deploySetup,
  deployTemplate as templateEntity,
} from '@berth/contract/deploy-templates'
import type { DeployBody } from '@berth/contract/instances'
import { TEMPLATES_PER_USER_MAX } from '@berth/contract/limits'
import { and, asc, count, eq, ne } from 'drizzle-orm'
import type { Clock } from '../../platform/clock.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { lockForUser } from '../../platform/database/user-lock.ts'
import type { Events } from '../../platform/events/events.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { wireOf } from '../../platform/http/wire.ts'
import type { Ids } from '../../platform/ids.ts'
import { forCustomer } from '../customers/customers.ts'
import { accountDeleted } from '../identity/events.ts'
import { deployTemplate } from './tables.ts'

const templateOf = wireOf(templateEntity)

interface DeployTemplatesDeps {
  db: Database
  clock: Clock
  ids: Ids
  events: Pick<Events, 'on'>
}

/** Deploys that customers keep to repeat them (B18). */
export function createDeployTemplates({ db, clock, ids, events }: DeployTemplatesDeps) {
  events.on(accountDeleted, 'deploy-templates', async (tx, { userId }) => {
    await lockForUser(tx, 'deploy_template', userId)
    await tx.delete(deployTemplate).where(eq(deployTemplate.userId, userId))
  })

  async function requireFreeName(tx: Transaction, userId: string, name: string, id: string): Promise<void> {
    const isOther = and(
      eq(deployTemplate.userId, userId),
      eq(deployTemplate.name, name),
      ne(deployTemplate.id, id),
    )
    const [taken] = await tx.select({ id: deployTemplate.id }).from(deployTemplate).where(isOther)
    if (taken) throw new ApiError('validation_failed', { fields: [{ path: 'name', rule: 'name_taken' }] })
  }

  return {
    /** A customer's templates by name. */
    async list(userId: string): Promise<DeployTemplate[]> {
      const rows = await db
        .select()
        .from(deployTemplate)
        .where(eq(deployTemplate.userId, userId))
        .orderBy(asc(deployTemplate.name), asc(deployTemplate.id))
      return rows.map(templateOf)
    },

    /** What a template holds. @throws ApiError `not_found`. */
    async get(userId: string, id: string): Promise<DeploySetup> {
      const [row] = await db.select().from(deployTemplate).where(isOwn(userId, id))
      if (!row) throw new ApiError('not_found')
      return deploySetup.parse(row.setup)
    },

    /**
     * Keeps a deploy.
     * @throws ApiError `validation_failed` with `name_taken`, or `deploy_template_limit`.
     */
    async add(userId: string, { name, setup }: { name: string; setup: DeployBody }): Promise<DeployTemplate> {
      const row = { id: ids.uuid(), userId, name, setup: repeatable(setup), createdAt: clock.now() }
      await db.transaction(async tx => {
        await forCustomer(tx, userId)
        await lockForUser(tx, 'deploy_template', userId)
        await requireFreeName(tx, userId, name, row.id)
        const [held] = await tx
          .select({ templates: count() })
          .from(deployTemplate)
          .where(eq(deployTemplate.userId, userId))
        if ((held?.templates ?? 0) >= TEMPLATES_PER_USER_MAX) {
          throw new ApiError('deploy_template_limit', { values: { limit: TEMPLATES_PER_USER_MAX } })
        }
        await tx.insert(deployTemplate).values(row)
      })
      return templateOf(row)
    },

    /** Gives a template another name. @throws ApiError `not_found`, or `validation_failed` with `name_taken`. */
    async rename(userId: string, id: string, name: string): Promise<DeployTemplate> {
      return db.transaction(async tx => {
        await forCustomer(tx, userId)
        await lockForUser(tx, 'deploy_template', userId)
        const held = await tx.select({ id: deployTemplate.id }).from(deployTemplate).where(isOwn(userId, id))
        if (held.length === 0) throw new ApiError('not_found')
        await requireFreeName(tx, userId, name, id)
        const [row] = await tx.update(deployTemplate).set({ name }).where(isOwn(userId, id)).returning()
        // A removal takes no lock.
        if (!row) throw new ApiError('not_found')
        return templateOf(row)
      })
    },

    /** Removes a template. @throws ApiError `not_found`. */
    async remove(userId: string, id: string): Promise<void> {
      await db.transaction(async tx => {
        await forCustomer(tx, userId)
        const removed = await tx
          .delete(deployTemplate)
          .where(isOwn(userId, id))
          .returning({ id: deployTemplate.id })
        if (removed.length === 0) throw new ApiError('not_found')
      })
    },
  }
}
export type DeployTemplates = ReturnType<typeof createDeployTemplates>

/**
 * What of a deploy can be repeated: no secret leaves by it, and no moment or price that passes.
 * @param setup As it was deployed, or filled in.
 */
export function repeatable<Setup extends Pick<DeployBody, 'env' | 'secret_env' | 'stop_at' | 'price_micro'>>(
  setup: Setup,
): Setup {
  const secrets = new Set(setup.secret_env)
  const entries = Object.entries(setup.env).map(([name, value]) => [name, secrets.has(name) ? '' : value])
  return { ...setup, env: Object.fromEntries(entries), stop_at: null, price_micro: null }
}

function isOwn(userId: string, id: string) {
  return and(eq(deployTemplate.userId, userId), eq(deployTemplate.id, id))
}
