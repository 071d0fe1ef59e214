import {
  type CustomImage,
  customImage,
  type Image,
  type ImageDetail,
  imageDetail,
} from '@berth/contract/images'
import { type GpuSpec, gpuSpec } from '@berth/contract/regions'
import { sampleOf } from '../schema-fixture.ts'

const SAID = {
  name: 'ComfyUI 0.9',
  description: 'Node editor for image models.',
  size: 16_700,
  region_code: null,
  kind: 'POD',
  tags: ['image', 'workflow'],
  version_info: 'torch 2.9',
  preloaded_models: '',
  start_command: '',
  http_ports: [8_188],
  tcp_ports: [22],
  min_vram_gb: 24,
  min_disk_gb: 20,
  image_reference: null,
  author: 'latent-garden',
  cover_url: null,
  cover: null,
  stars: 214,
  starred: false,
  deploys: 8_412,
  deploys_week: 0,
  updated_at: '2026-11-12T10:00:00.000Z',
  available: true,
  unavailable_reason: null,
  drivers: ['sandbox'],
} as const

/** An image of the community, as its page shows it, for a test. */
export function madeDetail(part: Partial<ImageDetail> = {}): ImageDetail {
  return {
    ...(sampleOf(imageDetail) as ImageDetail),
    ...(SAID as unknown as Image),
    id: 'im-000000',
    type: 'Community',
    readme: '# What it is',
    versions: [],
    own: null,
    custom_image_id: null,
    ...part,
  }
}

/** An image of the community, as lists show it, for a test. */
export function madeImage(part: Partial<Image> = {}): Image {
  return { ...(SAID as unknown as Image), id: 'im-000000', type: 'Community', ...part }
}

/** An image of the customer's own that is private, for a test. */
export function madeOwnImage(part: Partial<CustomImage> = {}): CustomImage {
  return {
    ...(sampleOf(customImage) as CustomImage),
    ...(SAID as unknown as Image),
    id: 'im-000001',
    region_code: 'us-west',
    type: 'Custom',
    author: null,
    deploys: 0,
    stars: 0,
    status: 'private',
    reason: null,
    progress: null,
    source: {
      instance_id: 'i-000001',
      instance_name: 'llama-finetune',
      image_reference: null,
      dockerfile: null,
      git: null,
    },
    review_by: null,
    community_image_id: null,
    version_of: null,
    instances: 0,
    currency: 'USD',
    micro_per_gb_day: '1700',
    micro_per_day: '28900',
    unpaid_since: null,
    deleted_on: null,
    ...part,
  }
}

/** A GPU of 24 GB at 0.42 an hour, of which some are free, for a test. */
export function madeSpec(part: Partial<GpuSpec> = {}): GpuSpec {
  return {
    ...(sampleOf(gpuSpec) as GpuSpec),
    id: 'rtx-4090',
    name: 'RTX 4090',
    region_code: 'us-west',
    gpu: true,
    vram_gb: 24,
    price_micro_per_hour: '420000',
    available: 4,
    total: 8,
    stock_known: true,
    counts: [1, 2],
    kinds: ['POD', 'VM'],
    simulated: false,
    ...part,
  }
}
