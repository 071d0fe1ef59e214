import * as z from 'zod'
import { defineCall } from './call.ts'
import { slug } from './fields.ts'

/** What a machine starts from (R3.4). */
export const image = z.object({
  id: z.string(),
  /** `Custom` is shown as Creation. */
  type: z.enum(['Official', 'Community', 'Custom']),
  name: z.string(),
  description: z.string(),
  /** In MB (R3.20). */
  size: z.number().int(),
  /** Null when every region has it. */
  region_code: z.string().nullable(),
  kind: z.enum(['POD', 'VM']),
  tags: z.array(z.string()),
  /** What is in it, for people: `PyTorch 2.9, CUDA 13`. */
  version_info: z.string(),
  http_ports: z.array(z.number().int()),
  tcp_ports: z.array(z.number().int()),
  /** Least VRAM that it wants of one GPU, in GB; 0 when any will do. */
  min_vram_gb: z.number().int(),
  /** Whether the machine driver that runs here can make it, and if not why. */
  available: z.boolean(),
  unavailable_reason: z.string().nullable(),
  /** Machine drivers that can make it, of which there may be none here. */
  drivers: z.array(z.string()),
})
z.globalRegistry.add(image, { id: 'Image' })
export type Image = z.infer<typeof image>

export const officialImages = defineCall({
  operation: 'image.official',
  method: 'GET',
  path: '/api/image/official_images',
  summary: 'Official images.',
  audience: 'guest',
  timeout: 'normal',
  retry: true,
  data: z.array(image),
})

export const officialImagesIn = defineCall({
  operation: 'image.official-in',
  method: 'GET',
  path: '/api/image/official_images/{region}',
  summary: 'Official images of one region.',
  audience: 'guest',
  timeout: 'normal',
  retry: true,
  params: z.object({ region: slug }),
  data: z.array(image),
})

export const imageCalls = [officialImages, officialImagesIn] as const
