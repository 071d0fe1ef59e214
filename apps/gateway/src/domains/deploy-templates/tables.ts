import type { DeploySetup } from '@berth/contract/deploy-templates'
import { jsonb, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { moment } from '../../platform/database/columns.ts'

/** Deploys that customers keep to repeat them. */
export const deployTemplate = pgTable(
  'deploy_template',
  {
    id: uuid('id').primaryKey(),
    userId: uuid('user_id').notNull(),
    name: text('name').notNull(),
    /** As the version that kept it knew it: what is newer has its default. No value of a secret is in it. */
    setup: jsonb('setup').$type<Partial<DeploySetup>>().notNull(),
    createdAt: moment('created_at').notNull(),
  },
  table => [uniqueIndex('deploy_template_name').on(table.userId, table.name)],
)
