import * as z from 'zod'
import { defineCall } from './call.ts'
import { by, micro, slug, timestamp } from './fields.ts'

/** Whose an image is; `Custom` is shown as Creation. */
export const IMAGE_TYPES = ['Official', 'Community', 'Custom'] as const

/** What a machine starts from (R3.4). */
export const image = z.object({
  id: z.string(),
  type: z.enum(IMAGE_TYPES),
  name: z.string(),
  description: z.string(),
  /** In MB (R3.20); 0 while it is not made. */
  size: z.number().int(),
  /** Null when every region has it. */
  region_code: z.string().nullable(),
  kind: z.enum(['POD', 'VM']),
  tags: z.array(z.string()),
  /** What is in it, for people: `PyTorch 2.9, CUDA 13`. */
  version_info: z.string(),
  preloaded_models: z.string(),
  /** What a deploy form begins with; empty: nothing. */
  start_command: z.string(),
  http_ports: z.array(z.number().int()),
  tcp_ports: z.array(z.number().int()),
  /** Least VRAM that it wants of one GPU, in GB; 0 when any will do. */
  min_vram_gb: z.number().int(),
  /** The smallest container disk that holds it, in GB. */
  min_disk_gb: z.number().int(),
  /** The registry's reference that it was made from; null where it was made from an instance, or is official. */
  image_reference: z.string().nullable(),
  /** The display name of who published it; null for official ones, and where the account is gone. */
  author: z.string().nullable(),
  /** Where its cover is served, a WebP for anybody, on the gateway's origin, and by what an edit names it; null without one. */
  cover_url: z.string().nullable(),
  cover: z.string().nullable(),
  /** Accounts that have given it a star, and whether the caller has. */
  stars: z.number().int(),
  starred: z.boolean(),
  /** Deploys by others than its author, each account once a day. */
  deploys: z.number().int(),
  deploys_week: z.number().int(),
  /** Null for official ones. */
  updated_at: timestamp.nullable(),
  /** Whether the machine driver that runs here can make it, and if not why. */
  available: z.boolean(),
  unavailable_reason: z.string().nullable(),
  /** Machine drivers that can make it, of which there may be none here. */
  drivers: z.array(z.string()),
})
z.globalRegistry.add(image, { id: 'Image' })
export type Image = z.infer<typeof image>

/**
 * What becomes of a customer's image (R4.8). It costs from `private` on, in every status but `building`, `failed` and
 * `deleting`. `failed`: nothing was kept. `refused`: it is private, and the community does not get it as it is.
 */
export const IMAGE_STATUSES = [
  'building',
  'private',
  'review',
  'community',
  'refused',
  'failed',
  'deleting',
] as const
export type ImageStatus = (typeof IMAGE_STATUSES)[number]

/**
 * Why an image is in its status. `failed`: its making failed or was given up, its instance or its registry's image went
 * away, its engine is gone or cannot do it, or not of an instance that is
 * stopped or has no GNU tar and find, there is no room, it is too large; its Dockerfile cannot be followed, its repository
 * was not to be had, a step of it failed, it took longer than a build may. `refused`: the operator refused it or took it
 * down. `missing`: the store has lost it. `deleting`: it was not paid for.
 */
export const IMAGE_REASONS = [
  'build_failed',
  'build_canceled',
  'instance_gone',
  'engine_away',
  'unsupported',
  'instance_stopped',
  'no_tar',
  'registry_failed',
  'no_room',
  'dockerfile_invalid',
  'git_failed',
  'step_failed',
  'build_too_long',
  'too_large',
  'refused',
  'taken_down',
  'missing',
  'unpaid',
] as const
export type ImageReason = (typeof IMAGE_REASONS)[number]

/** What is being done while an image is made. */
export const IMAGE_STEPS = ['waiting', 'building', 'saving'] as const

const imageProgress = z.object({
  step: z.enum(IMAGE_STEPS),
  bytes_done: z.number().int(),
  bytes_total: z.number().int().nullable(),
  /** Of a Dockerfile while it is followed: steps that are done, of how many; null otherwise. */
  build_steps: z.object({ done: z.number().int(), total: z.number().int() }).nullable(),
})
z.globalRegistry.add(imageProgress, { id: 'ImageProgress' })

const imageSource = z.object({
  instance_id: z.string().nullable(),
  instance_name: z.string().nullable(),
  image_reference: z.string().nullable(),
  /** A Dockerfile as it was given. */
  dockerfile: z.string().nullable(),
  /** A repository that has a Dockerfile in a folder of it; an empty `ref` is its own branch, an empty folder its root. */
  git: z.object({ url: z.string(), ref: z.string(), folder: z.string() }).nullable(),
})
z.globalRegistry.add(imageSource, { id: 'ImageSource' })

/** What its owner knows of an image besides. */
export const imageKeeping = z.object({
  status: z.enum(IMAGE_STATUSES),
  status_since: timestamp,
  /** `detail` are the engine's own words in English, or the operator's as they were written; empty where there are none. */
  reason: z.object({ code: z.enum(IMAGE_REASONS), detail: z.string() }).nullable(),
  /** While it is `building`; `bytes_total` is null where it cannot be known. */
  progress: imageProgress.nullable(),
  /** What it was made from: an instance, which may be gone, a reference, a Dockerfile or a repository. */
  source: imageSource,
  /** Grows when a version is sent to the community. */
  version: z.number().int(),
  /** The day by whose end the operator answers; null while it is not in review. */
  review_by: timestamp.nullable(),
  /** The community's copy of it; null without one. It stays when this image is deleted. */
  community_image_id: z.string().nullable(),
  /** The community's image whose next version it becomes where it is published; null: it is an image of its own. */
  version_of: z.string().nullable(),
  /** Instances of the customer that were made from it and are not gone. */
  instances: z.number().int(),
  currency: z.string(),
  micro_per_gb_day: micro,
  /** What it costs now: nothing while it is not kept. */
  micro_per_day: micro,
  /** All that it has cost so far. */
  cost_micro: micro,
  /** Since when nothing is left to pay for it; null: it is paid for. */
  unpaid_since: timestamp.nullable(),
  /** When it is deleted unless money comes; null: it is paid for. */
  deleted_on: timestamp.nullable(),
  created_at: timestamp,
})
z.globalRegistry.add(imageKeeping, { id: 'ImageKeeping' })

/** A customer's own image. */
export const customImage = image.extend(imageKeeping.shape)
z.globalRegistry.add(customImage, { id: 'CustomImage' })
export type CustomImage = z.infer<typeof customImage>

/** A version that the community had or has. */
export const imageVersion = z.object({
  number: z.number().int(),
  version_info: z.string(),
  /** In MB. */
  size: z.number().int(),
  created_at: timestamp,
})
z.globalRegistry.add(imageVersion, { id: 'ImageVersion' })
export type ImageVersion = z.infer<typeof imageVersion>

/** An image on a page of its own. */
export const imageDetail = image.extend({
  /** Markdown as its author wrote it: whoever shows it must make it safe. */
  readme: z.string(),
  /** The newest first; empty for official images, and for those that were never in the community. */
  versions: z.array(imageVersion),
  /** What its owner knows of it besides; null for anybody else, and for the community's copy. */
  own: imageKeeping.nullable(),
  /** The caller's own image that the community's copy was made from; null for anybody else. */
  custom_image_id: z.string().nullable(),
})
z.globalRegistry.add(imageDetail, { id: 'ImageDetail' })
export type ImageDetail = z.infer<typeof imageDetail>

/** What keeping images costs. */
export const imagePrice = z.object({
  currency: z.string(),
  micro_per_gb_day: micro,
  /** What all of the customer's images cost now. */
  micro_per_day: micro,
  /** MB that they hold in all. */
  size: z.number().int(),
})
z.globalRegistry.add(imagePrice, { id: 'ImagePrice' })
export type ImagePrice = z.infer<typeof imagePrice>

const inRegion = z.object({ region: slug })

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
  params: inRegion,
  data: z.array(image),
})

export const communityImages = defineCall({
  operation: 'image.community',
  method: 'GET',
  path: '/api/image/community_images',
  summary: 'Images that customers have published, the most deployed first.',
  audience: 'guest',
  timeout: 'normal',
  retry: true,
  data: z.array(image),
})

export const communityImagesIn = defineCall({
  operation: 'image.community-in',
  method: 'GET',
  path: '/api/image/community_images/{region}',
  summary: 'Images that customers have published in one region, the most deployed first.',
  audience: 'guest',
  timeout: 'normal',
  retry: true,
  params: inRegion,
  data: z.array(image),
})

export const customImages = defineCall({
  operation: 'image.custom',
  method: 'GET',
  path: '/api/image/custom_images',
  summary: "The customer's own images, newest first.",
  audience: 'user',
  timeout: 'normal',
  retry: true,
  data: z.array(customImage),
})

export const customImagesIn = defineCall({
  operation: 'image.custom-in',
  method: 'GET',
  path: '/api/image/custom_images/{region}',
  summary: "The customer's own images of one region, newest first.",
  audience: 'user',
  timeout: 'normal',
  retry: true,
  params: inRegion,
  data: z.array(customImage),
})

export const getImagePrice = defineCall({
  operation: 'image.price',
  method: 'GET',
  path: '/api/image/price',
  summary: "What a GB of an image costs a day, and what the customer's images cost now.",
  audience: 'user',
  timeout: 'fast',
  retry: true,
  data: imagePrice,
})

/** An image's id: an official one's, or `im-` and seven characters. */
export const imageId = slug

export const getImage = defineCall({
  operation: 'image.get',
  method: 'GET',
  path: '/api/image/{id}',
  summary:
    "An image with its README and versions: an official one, the community's, or one of the customer's own.",
  audience: 'guest',
  timeout: 'normal',
  retry: true,
  params: z.object({ id: imageId }),
  data: imageDetail,
})

/** `im-` and six letters or digits or more. */
export const ownImageId = z.string(by('required')).regex(/^im-[a-z0-9]{6,12}$/, by('not_allowed'))

/** What steps of a Dockerfile have written. */
export const imageBuildLog = z.object({
  /** Whole lines, without colours and other controls of a terminal. */
  lines: z.array(z.string()),
  /** What is asked for next, as `after`. */
  next: z.number().int(),
  /** Lines before these that are not kept any more, or lie before `after`. */
  skipped: z.number().int(),
  /** Whether more may come: it is being made, or there is more already. */
  more: z.boolean(),
})
z.globalRegistry.add(imageBuildLog, { id: 'ImageBuildLog' })
export type ImageBuildLog = z.infer<typeof imageBuildLog>

export const getBuildLog = defineCall({
  operation: 'image.build-log',
  method: 'GET',
  path: '/api/image/{id}/build-log',
  summary:
    "What the steps of an own image's Dockerfile have written, from a line on. The last lines are kept.",
  audience: 'user',
  timeout: 'fast',
  retry: true,
  params: z.object({ id: ownImageId }),
  query: z.object({
    after: z.coerce
      .number(by('not_a_number'))
      .int(by('not_whole'))
      .min(0, by('too_small'))
      .max(1e9, by('too_large'))
      .default(0),
  }),
  data: imageBuildLog,
})

export const imageCalls = [
  officialImages,
  officialImagesIn,
  communityImages,
  communityImagesIn,
  customImages,
  customImagesIn,
  getImagePrice,
  getImage,
  getBuildLog,
] as const
