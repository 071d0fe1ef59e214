import { publicIpPrice as entity, type PublicIpPrice } from '@berth/contract/public-ip-calls'
import type { Catalogue } from '../../../platform/config/catalogue.ts'
import type { Database } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { wireOf } from '../../../platform/http/wire.ts'
import type { Billing } from '../../billing/billing.ts'
import type { PublicIps } from '../../public-ips/public-ips.ts'

const priceOf = wireOf(entity)

/**
 * What an address of a region costs by the hour, and how many are free.
 * @throws ApiError `region_not_supported`.
 */
export async function publicIpPrice(
  deps: {
    db: Database
    billing: Pick<Billing, 'totals'>
    publicIps: Pick<PublicIps, 'level' | 'microPerHour'>
    catalogue: Pick<Catalogue, 'regions'>
  },
  userId: string,
  regionCode: string,
): Promise<PublicIpPrice> {
  const { db, billing, publicIps, catalogue } = deps
  // An address of a region that is closed may still be given to what is there.
  if (!catalogue.regions.some(({ code }) => code === regionCode)) {
    throw new ApiError('region_not_supported', { fields: [{ path: 'region_code', rule: 'not_allowed' }] })
  }
  const [level, { currency }] = await Promise.all([
    publicIps.level(db, regionCode),
    billing.totals(db, userId),
  ])
  return priceOf({ ...level, currency, rateMicroPerHour: publicIps.microPerHour })
}
