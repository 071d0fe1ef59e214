import { randomUUID } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { grantCredit } from '../../apps/gateway/src/domains/billing/credits/grants.ts'
import { openWallet } from '../../apps/gateway/src/domains/billing/ledger/wallet.ts'
import { openCustomer } from '../../apps/gateway/src/domains/customers/customers.ts'
import { makeKeyText, prefixOf } from '../../apps/gateway/src/domains/models/key-text.ts'
import { apiKey } from '../../apps/gateway/src/domains/models/tables.ts'
import { systemClock } from '../../apps/gateway/src/platform/clock.ts'
import type { Database } from '../../apps/gateway/src/platform/database/database.ts'
import { sha256Hex } from '../../apps/gateway/src/platform/hash.ts'
import { systemIds } from '../../apps/gateway/src/platform/ids.ts'

const CONFIG = resolve(import.meta.dirname, '../../config')
const CREDIT_MICRO = 1_000_000_000_000n

/** The catalogue that ships with one model in place of its own. @returns Its file, in a folder that the caller removes. */
export function catalogueWith(upstream: string): { folder: string; file: string } {
  const folder = mkdtempSync(join(tmpdir(), 'berth-bench-catalogue-'))
  cpSync(CONFIG, folder, { recursive: true })
  const file = join(folder, 'catalogue.yaml')
  const [shipped = ''] = readFileSync(file, 'utf8').split(/^models:$/m)
  const model = {
    ...{ id: 'bench', name: 'Bench', kind: 'chat', vendor: 'Bench', description: 'Bench' },
    ...{ context_tokens: 8_192, output_tokens_max: 2_048 },
    ...{ price_input_million: '1.00', price_output_million: '3.00' },
    servers: [{ driver: 'openai', url: upstream }],
  }
  writeFileSync(file, `${shipped}models: ${JSON.stringify([model])}\n`)
  return { folder, file }
}

/**
 * Customers with more money than all calls need, and keys of theirs: as many as it takes until no limit of one is met.
 * @returns The keys, a customer's after another's.
 */
export async function makeKeys(db: Database, customers: number, keysEach: number): Promise<string[]> {
  const keys: string[][] = []
  const deps = { clock: systemClock, ids: systemIds }
  for (let nth = 0; nth < customers; nth++) {
    const userId = randomUUID()
    const own = Array.from({ length: keysEach }, () => makeKeyText(systemIds))
    await db.transaction(async tx => {
      const at = systemClock.now()
      await openCustomer(tx, { userId, at })
      await openWallet(tx, deps, { userId, currency: 'USD' })
      const grant = {
        id: randomUUID(),
        userId,
        amountMicro: CREDIT_MICRO,
        kind: 'bonus',
        reason: 'bench',
      } as const
      await grantCredit(tx, deps, grant)
      await tx.insert(apiKey).values(
        own.map(key => ({
          ...{
            id: randomUUID(),
            userId,
            name: 'bench',
            prefix: prefixOf(key),
            hash: sha256Hex(key),
            createdAt: at,
          },
        })),
      )
    })
    keys.push(own)
  }
  return Array.from({ length: keysEach }, (_, nth) => keys.map(own => own[nth] ?? '')).flat()
}
