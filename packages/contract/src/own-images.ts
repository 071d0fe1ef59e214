import * as z from 'zod'
import {
  DOCKERFILE_CHARS_MAX,
  GIT_FOLDER_CHARS_MAX,
  GIT_REF_CHARS_MAX,
  GIT_URL_CHARS_MAX,
} from './build-limits.ts'
import { defineCall } from './call.ts'
import { COVER_PATTERN } from './covers.ts'
import { by, isShownAsWritten, slug, timestamp } from './fields.ts'
import { imageReference } from './image-choice.ts'
import { customImage, image, ownImageId } from './images.ts'
import { instanceId, ports } from './instances.ts'
import {
  COVER_BYTES_MAX,
  IMAGE_BODY_BYTES_MAX,
  IMAGE_DESCRIPTION_CHARS_MAX,
  IMAGE_NAME_CHARS_MAX,
  IMAGE_NAME_CHARS_MIN,
  IMAGE_README_CHARS_MAX,
  IMAGE_REPORT_CHARS_MAX,
  IMAGE_TAGS_MAX,
  IMAGE_TEXT_CHARS_MAX,
  IMAGE_VRAM_GB_MAX,
} from './limits.ts'
import { MONEY_READS } from './money-reads.ts'

/** What images are for: the scenes that they are found under. */
export const IMAGE_SCENES = [
  'image',
  'inference',
  'training',
  'chat',
  'notebook',
  'video',
  'audio',
  'data',
  'render',
  'workflow',
  'batch',
  'api',
  'base',
] as const
export type ImageScene = (typeof IMAGE_SCENES)[number]

const note = z.string(by('wrong_type')).trim().max(IMAGE_TEXT_CHARS_MAX, by('too_long')).default('')

/** What customers say of an image (R5.5). */
const details = {
  name: z
    .string(by('required'))
    .trim()
    .min(1, by('required'))
    .min(IMAGE_NAME_CHARS_MIN, by('too_short'))
    .max(IMAGE_NAME_CHARS_MAX, by('too_long'))
    .regex(/^[^\p{Cc}\p{Cs}]*$/u, by('not_allowed'))
    .refine(isShownAsWritten, by('not_allowed')),
  description: z
    .string(by('required'))
    .trim()
    .min(1, by('required'))
    .max(IMAGE_DESCRIPTION_CHARS_MAX, by('too_long')),
  tags: z
    .array(z.enum(IMAGE_SCENES, by('not_allowed')), by('required'))
    .min(1, by('required'))
    .max(IMAGE_TAGS_MAX, by('too_large'))
    .refine(list => new Set(list).size === list.length, by('duplicate')),
  region_code: slug,
  version_info: note,
  preloaded_models: note,
  start_command: note,
  http_ports: ports.default([]),
  tcp_ports: ports.default([]),
  min_vram_gb: z
    .number(by('not_a_number'))
    .int(by('not_whole'))
    .min(0, by('too_small'))
    .max(IMAGE_VRAM_GB_MAX, by('too_large'))
    .default(0),
  readme: z.string(by('required')).trim().min(1, by('required')).max(IMAGE_README_CHARS_MAX, by('too_long')),
  /** As uploading it answered within a day, or as one of the customer's images has it; null: none. */
  cover: z.string(by('cover_unknown')).regex(COVER_PATTERN, by('cover_unknown')).nullable().default(null),
}

/** A repository with a Dockerfile in a folder of it. */
const gitSource = z.object(
  {
    url: z
      .string(by('required'))
      .trim()
      .min(1, by('required'))
      .max(GIT_URL_CHARS_MAX, by('too_long'))
      .regex(/^https:\/\/[a-z0-9.-]+(:\d{1,5})?\/[\w.~/+-]+$/i, by('git_url')),
    /** A branch, a tag or a whole commit; empty: the repository's own branch. */
    ref: z
      .string(by('wrong_type'))
      .trim()
      .max(GIT_REF_CHARS_MAX, by('too_long'))
      .regex(/^$|^[A-Za-z0-9_][\w./+-]*$/, by('not_allowed'))
      .refine(ref => !ref.includes('..'), by('not_allowed'))
      .default(''),
    folder: z
      .string(by('wrong_type'))
      .trim()
      .max(GIT_FOLDER_CHARS_MAX, by('too_long'))
      .regex(/^$|^[\w.+@ -]+(\/[\w.+@ -]+)*$/, by('not_allowed'))
      .refine(folder => !folder.split('/').some(part => part === '.' || part === '..'), by('not_allowed'))
      .default(''),
  },
  by('required'),
)

/**
 * What an image is made from: one of the customer's instances, an image of a registry, a Dockerfile, or one in a repository;
 * one of them is given.
 */
export const createImageBody = z.object(
  {
    instance_id: instanceId.nullable().default(null),
    image_reference: imageReference.nullable().default(null),
    /** As text. It has no files beside it. */
    dockerfile: z
      .string(by('wrong_type'))
      .min(1, by('required'))
      .max(DOCKERFILE_CHARS_MAX, by('too_long'))
      .nullable()
      .default(null),
    git: gitSource.nullable().default(null),
    /** Which of the account's credentials is shown to its registry, of a reference or of what a Dockerfile begins with; null: none. */
    registry_credential_id: z.uuid(by('not_allowed')).nullable().default(null),
    /**
     * The community's id of an image that the customer has published: sent to the community, this one becomes its next
     * version, and the one before stays there until then. Null: it is an image of its own.
     */
    version_of: ownImageId.nullable().default(null),
    /** As the instance's is; otherwise `POD`. */
    kind: z.enum(['POD', 'VM'], by('not_allowed')).default('POD'),
    ...details,
  },
  by('required'),
)
z.globalRegistry.add(createImageBody, { id: 'CreateImageBody' })
export type CreateImageBody = z.infer<typeof createImageBody>

export const editImageBody = z.object({ id: ownImageId, ...details }, by('required'))
z.globalRegistry.add(editImageBody, { id: 'EditImageBody' })
export type EditImageBody = z.infer<typeof editImageBody>

/** A picture as it is kept: within 1,200 pixels each way. */
const imageCover = z.object({
  /** By what the call that makes or edits an image names it. It is kept for a day, and then while an image has it. */
  cover: z.string(),
  width: z.number().int(),
  height: z.number().int(),
  cover_url: z.string(),
})
z.globalRegistry.add(imageCover, { id: 'ImageCover' })
export type ImageCover = z.infer<typeof imageCover>

/** What may be wrong with an image of the community. */
export const IMAGE_REPORT_KINDS = ['harmful', 'misleading', 'rights', 'broken', 'other'] as const
export type ImageReportKind = (typeof IMAGE_REPORT_KINDS)[number]

export const reportImageBody = z.object(
  {
    kind: z.enum(IMAGE_REPORT_KINDS, by('required')),
    text: z.string(by('required')).trim().min(1, by('required')).max(IMAGE_REPORT_CHARS_MAX, by('too_long')),
  },
  by('required'),
)
z.globalRegistry.add(reportImageBody, { id: 'ReportImageBody' })
export type ReportImageBody = z.infer<typeof reportImageBody>

const byId = z.object({ id: ownImageId })

/** Reads of the customer's own images. */
const OWN = ['image.custom', 'image.custom-in', 'image.get'] as const
/** Reads of what the community has. */
const PUBLIC = ['image.community', 'image.community-in'] as const
/** Reads that are old when an image begins or ceases to cost something. */
const WHAT_COSTS = [
  ...OWN,
  'image.price',
  'instance.price',
  'instance.billing-preview',
  'instance.check-resource',
  'netvolume.price',
  ...MONEY_READS,
] as const
/** Reads that show whether an instance is having an image made of it. */
const INSTANCES = ['instance.list', 'instance.page', 'instance.get', 'instance.events'] as const

export const createImage = defineCall({
  operation: 'image.create',
  method: 'POST',
  path: '/api/image/',
  summary:
    'Makes an image of an instance, of an image of a registry or of a Dockerfile, and keeps it. It costs from when it is kept, by what is kept.',
  audience: 'verified',
  timeout: 'normal',
  spends: true,
  bodyBytesMax: IMAGE_BODY_BYTES_MAX,
  audit: { target: ['body.instance_id', 'data.id'] },
  stales: [...WHAT_COSTS, ...INSTANCES],
  body: createImageBody,
  data: customImage,
})

export const uploadCover = defineCall({
  operation: 'image.upload-cover',
  method: 'POST',
  path: '/api/image/cover',
  summary:
    'Takes a picture for the cover of an image: PNG, JPEG, WebP, GIF or AVIF. It is drawn anew, and nothing else of it is kept.',
  audience: 'verified',
  timeout: 'download',
  bytes: true,
  bodyBytesMax: COVER_BYTES_MAX,
  audit: { target: [] },
  stales: { because: 'No image has it until one is made or edited with it.' },
  data: imageCover,
})

export const editImage = defineCall({
  operation: 'image.edit',
  method: 'PUT',
  path: '/api/image/',
  summary:
    'Changes what is said of an image. Of one that the community has, the new version is reviewed, and the old one stays meanwhile.',
  audience: 'verified',
  timeout: 'normal',
  bodyBytesMax: IMAGE_BODY_BYTES_MAX,
  audit: { target: ['body.id'] },
  stales: OWN,
  body: editImageBody,
  data: customImage,
})

export const deleteImage = defineCall({
  operation: 'image.delete',
  method: 'DELETE',
  path: '/api/image/{id}',
  summary: "Deletes an image of the customer's own. The community's copy of it stays.",
  audience: 'verified',
  timeout: 'normal',
  audit: { target: ['params.id'] },
  stales: [...WHAT_COSTS, ...INSTANCES],
  params: byId,
  data: customImage,
})

export const publishImage = defineCall({
  operation: 'image.publish',
  method: 'POST',
  path: '/api/image/{id}/publish',
  summary: 'Sends an image to the community, which gets it when the operator has reviewed it.',
  audience: 'verified',
  timeout: 'normal',
  audit: { target: ['params.id'] },
  stales: OWN,
  params: byId,
  data: customImage,
})

export const cancelPublishing = defineCall({
  operation: 'image.cancel-publishing',
  method: 'POST',
  path: '/api/image/{id}/cancel-publishing',
  summary: 'Takes an image back that is in review.',
  audience: 'verified',
  timeout: 'normal',
  audit: { target: ['params.id'] },
  stales: OWN,
  params: byId,
  data: customImage,
})

export const makeImagePrivate = defineCall({
  operation: 'image.make-private',
  method: 'POST',
  path: '/api/image/{id}/make-private',
  summary: 'Takes an image off the community. Machines that run it go on.',
  audience: 'verified',
  timeout: 'normal',
  audit: { target: ['params.id'] },
  stales: [...OWN, ...PUBLIC],
  params: byId,
  data: customImage,
})

export const cancelImageBuild = defineCall({
  operation: 'image.cancel-build',
  method: 'POST',
  path: '/api/image/{id}/cancel-build',
  summary: 'Gives up making an image. What was said of it stays, nothing else does.',
  audience: 'verified',
  timeout: 'normal',
  audit: { target: ['params.id'] },
  stales: [...WHAT_COSTS, ...INSTANCES],
  params: byId,
  data: customImage,
})

/** What is said of an image's stars. */
const starred = image.pick({ id: true, stars: true, starred: true })
z.globalRegistry.add(starred, { id: 'ImageStars' })

export const starImage = defineCall({
  operation: 'image.star',
  method: 'PUT',
  path: '/api/image/{id}/star',
  summary: 'Gives an image of the community a star, of which each account has one for it.',
  audience: 'verified',
  timeout: 'fast',
  audit: { target: ['params.id'] },
  stales: ['image.get', ...PUBLIC],
  params: byId,
  data: starred,
})

export const unstarImage = defineCall({
  operation: 'image.unstar',
  method: 'DELETE',
  path: '/api/image/{id}/star',
  summary: 'Takes the star back that the account has given an image.',
  audience: 'verified',
  timeout: 'fast',
  audit: { target: ['params.id'] },
  stales: ['image.get', ...PUBLIC],
  params: byId,
  data: starred,
})

export const reportImage = defineCall({
  operation: 'image.report',
  method: 'PUT',
  path: '/api/image/{id}/report',
  summary:
    'Tells the operator what is wrong with an image of the community. Another one of the same account takes its place.',
  audience: 'verified',
  timeout: 'fast',
  audit: { target: ['params.id'] },
  stales: ['account.audit-log'],
  params: byId,
  body: reportImageBody,
  data: z.object({ id: z.string(), reported_at: timestamp }),
})

export const ownImageCalls = [
  createImage,
  uploadCover,
  editImage,
  deleteImage,
  publishImage,
  cancelPublishing,
  makeImagePrivate,
  cancelImageBuild,
  starImage,
  unstarImage,
  reportImage,
] as const
