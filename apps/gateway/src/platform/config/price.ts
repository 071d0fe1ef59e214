import { MICRO_PER_UNIT } from '@berth/contract/money'
import * as z from 'zod'

/** A price of the catalogue in units of currency, such as "0.42", as micro-units. */
export const price = z
  .string({ error: 'must be a price in quotes, such as "0.42"' })
  .regex(/^\d{1,6}(\.\d{1,6})?$/, 'must be a price such as "0.42", with at most six decimals')
  .transform(value => {
    const [whole = '0', fraction = ''] = value.split('.')
    return BigInt(whole) * MICRO_PER_UNIT + BigInt(fraction.padEnd(6, '0'))
  })
