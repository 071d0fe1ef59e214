import { isNull } from 'drizzle-orm'
import type { Database } from '../../../platform/database/database.ts'
import type { Claim, Stock } from '../../regions/regions.ts'
import { holdsStock } from '../change-status.ts'
import type { InstanceRow } from '../rows.ts'
import { instance } from '../tables.ts'

/**
 * Whether the stock agrees with the instances, as they are at one moment.
 * @returns A sentence for each thing that is wrong.
 */
export function checkStock(db: Database, stock: Pick<Stock, 'check'>): Promise<string[]> {
  return db.transaction(
    async tx => {
      const rows = await tx.select().from(instance).where(isNull(instance.terminatedAt))
      // What was off already when its customer deleted it has given everything back, and takes nothing to be removed.
      const { leaving = [], holding = [] } = Object.groupBy(rows.filter(holdsStock), ({ status }) =>
        status === 'deleting' ? 'leaving' : 'holding',
      )
      return stock.check(tx, holding.map(claimOf), leaving.map(claimOf))
    },
    { isolationLevel: 'repeatable read', accessMode: 'read only' },
  )
}

function claimOf({ id, regionCode, gpuSpecId, gpuCount }: InstanceRow): Claim {
  return { subjectId: id, regionCode, specId: gpuSpecId, count: gpuCount }
}
