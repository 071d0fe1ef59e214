import * as z from 'zod'
import { defineCall } from './call.ts'
import { by, currency, micro, slug } from './fields.ts'
import { instanceChange, instanceId, priceMicro, WHAT_RUNS } from './instances.ts'
import { publicIp } from './public-ip.ts'

/** What a dedicated public IP of a region costs, and whether there is one. */
export const publicIpPrice = z.object({
  currency,
  rate_micro_per_hour: micro,
  /** Of those that some gateway has: how many there are, and how many nobody has taken. */
  total: z.number().int(),
  available: z.number().int(),
})
z.globalRegistry.add(publicIpPrice, { id: 'PublicIpPrice' })
export type PublicIpPrice = z.infer<typeof publicIpPrice>

export const getPublicIpPrice = defineCall({
  operation: 'eip.price',
  method: 'GET',
  path: '/api/eip/price',
  summary: 'What a dedicated public IP of a region costs by the hour, and how many are free.',
  audience: 'user',
  timeout: 'fast',
  retry: true,
  query: z.object({ region_code: slug }),
  data: publicIpPrice,
})

export const bindPublicIp = defineCall({
  operation: 'eip.bind',
  method: 'POST',
  path: '/api/eip/',
  summary: 'Gives an instance a public IP of its own. It costs by the hour until it is given back.',
  audience: 'verified',
  timeout: 'normal',
  spends: true,
  audit: { target: ['body.instance_id'] },
  stales: WHAT_RUNS,
  body: z.object({
    region_code: slug,
    instance_id: instanceId,
    /** What an hour was shown at: at another price it is refused. Null takes the price as it is. */
    price_micro: priceMicro.nullable().default(null),
  }),
  data: publicIp,
})

export const unbindPublicIp = defineCall({
  operation: 'eip.unbind',
  method: 'DELETE',
  path: '/api/eip/{id}',
  summary: 'Gives the public IP of an instance back. Others may get it from then on.',
  audience: 'verified',
  timeout: 'normal',
  audit: { target: ['params.id'] },
  stales: WHAT_RUNS,
  params: z.object({ id: z.uuid(by('not_allowed')) }),
  data: instanceChange,
})

export const publicIpCalls = [getPublicIpPrice, bindPublicIp, unbindPublicIp] as const
