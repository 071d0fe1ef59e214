import { isNull } from 'drizzle-orm'
import type { Database } from '../../../platform/database/database.ts'
import type { Stock } from '../../regions/regions.ts'
import { holdsStock } from '../change-status.ts'
import { instance } from '../tables.ts'

/**
 * Whether the stock agrees with the instances, as they are at one moment.
 * @returns A sentence for each thing that is wrong.
 */
export function checkStock(db: Database, stock: Pick<Stock, 'check'>): Promise<string[]> {
  return db.transaction(
    async tx => {
      const rows = await tx.select().from(instance).where(isNull(instance.terminatedAt))
      const holders = rows.filter(holdsStock).map(row => ({
        subjectId: row.id,
        regionCode: row.regionCode,
        specId: row.gpuSpecId,
        count: row.gpuCount,
      }))
      return stock.check(tx, holders)
    },
    { isolationLevel: 'repeatable read', accessMode: 'read only' },
  )
}
