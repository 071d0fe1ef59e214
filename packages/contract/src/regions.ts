import * as z from 'zod'
import { defineCall } from './call.ts'
import { by, micro, page, pageOf, slug } from './fields.ts'
import { LONG_TEXT_BODY_BYTES_MAX } from './limits.ts'

/** A place where machines run (R3.3). */
export const region = z.object({
  code: z.string(),
  name: z.string(),
  /** A disabled region is listed and refuses deploys (R5.4). */
  enabled: z.boolean(),
  /** It is closed for now alone: what runs there goes on. */
  draining: z.boolean(),
  /** What a GB that a machine sends out of it costs; 0 where that is free. */
  traffic_micro_per_gb: micro,
})
z.globalRegistry.add(region, { id: 'Region' })
export type Region = z.infer<typeof region>

/** A GPU model as one region offers it (R3.3). */
export const gpuSpec = z.object({
  id: z.string(),
  region_code: z.string(),
  /** As people name it: `RTX 4090`; `CPU only` for the spec without a GPU. */
  name: z.string(),
  gpu: z.boolean(),
  vram_gb: z.number().int(),
  /** For each GPU, or for the whole machine of a CPU spec. */
  vcpu: z.number().int(),
  memory_gb: z.number().int(),
  price_micro_per_hour: micro,
  /** For a GPU (a machine for a CPU spec) that is paid for in advance. */
  price_micro_per_week: micro,
  price_micro_per_month: micro,
  /** GPUs (machines for a CPU spec) that can be rented now, and that the region has. */
  available: z.number().int(),
  total: z.number().int(),
  /** False while nobody reaches an engine that could make it: whether what is free can be had, nobody can tell then. */
  stock_known: z.boolean(),
  counts: z.array(z.number().int()),
  /** What the region's engines can make of it. */
  kinds: z.array(z.enum(['POD', 'VM'])),
  /** True when no such GPU is in this machine: the instance gets none (B1). */
  simulated: z.boolean(),
})
z.globalRegistry.add(gpuSpec, { id: 'GpuSpec' })
export type GpuSpec = z.infer<typeof gpuSpec>

export const allRegions = defineCall({
  operation: 'region.all',
  method: 'GET',
  path: '/api/region/all',
  summary: 'Every region.',
  audience: 'guest',
  timeout: 'fast',
  retry: true,
  data: z.array(region),
})

export const listRegions = defineCall({
  operation: 'region.list',
  method: 'GET',
  path: '/api/region/list',
  summary: 'Regions by page, narrowed by name and code.',
  audience: 'guest',
  timeout: 'fast',
  retry: true,
  query: z.object({
    ...page,
    name: z.string(by('wrong_type')).max(100, by('too_long')).optional(),
    code: z.string(by('wrong_type')).max(64, by('too_long')).optional(),
  }),
  data: pageOf(region),
})

export const listGpuSpecs = defineCall({
  operation: 'gpu_spec.list',
  method: 'POST',
  path: '/api/gpu_spec/list',
  summary:
    'GPU specs of the named regions, with stock and price; of every enabled region when none is named.',
  audience: 'guest',
  timeout: 'normal',
  retry: true,
  readOnly: true,
  bodyBytesMax: LONG_TEXT_BODY_BYTES_MAX,
  body: z.object({ region_codes: z.array(slug, by('wrong_type')).max(50, by('too_large')) }),
  data: z.array(gpuSpec),
})

export const regionCalls = [allRegions, listRegions, listGpuSpecs] as const
