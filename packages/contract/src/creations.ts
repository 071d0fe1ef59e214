import * as z from 'zod'
import { defineCall } from './call.ts'
import { CREATION_STATUSES } from './creation-states.ts'
import { by, currency, micro, timestamp } from './fields.ts'
import {
  CREATION_BODY_BYTES_MAX,
  CREATION_PICTURES_MAX,
  CREATION_PROMPT_CHARS_MAX,
  CREATION_SEARCH_CHARS_MAX,
  CREATION_SECONDS_MAX,
  CREATION_SEED_MAX,
  CURSOR_CHARS_MAX,
  MODEL_ID_CHARS_MAX,
  MODEL_IMAGE_BYTES_MAX,
  PAGE_SIZE_DEFAULT,
  PAGE_SIZE_MAX,
} from './limits.ts'
import { MONEY_READS } from './money-reads.ts'
import { CALL_SOURCES } from './session-log.ts'

/** What customers make with models and keep: pictures, some at a time, and films. */
export const CREATION_KINDS = ['image', 'video'] as const
export type CreationKind = (typeof CREATION_KINDS)[number]

/** Below the gateway's prefix, where the bytes of pictures and films are served. */
export const CREATION_FILES_PATH = '/creation-files'
/** The same of all that a customer has as one archive. */
export const CREATION_ARCHIVES_PATH = '/creation-archives'

/** A picture or a film as bytes. */
const creationFile = z.object({
  /** What a picture or film is made after is named by this. */
  id: z.uuid(),
  /**
   * On the gateway's origin, good for some hours and the same during that time; it takes `Range`. With `?download` the
   * answer is saved as a file.
   */
  url: z.string(),
  /** Such as `image/png` or `video/webm`. */
  type: z.string(),
  bytes: z.number().int(),
})
z.globalRegistry.add(creationFile, { id: 'CreationFile' })
export type CreationFile = z.infer<typeof creationFile>

/** How far a film is, where its server says so. */
const creationProgress = z.object({
  percent: z.number().int().min(0).max(100),
  /** Frames that are made, of so many; null where the server does not say it. */
  frame: z.number().int().nullable(),
  frames: z.number().int().nullable(),
})
z.globalRegistry.add(creationProgress, { id: 'CreationProgress' })

/** One picture of a run, or its film. */
export const creationItem = z.object({
  id: z.uuid(),
  /** The first is 0. */
  number: z.number().int(),
  /** Its own: that of the run, and one more for each picture after the first. */
  seed: z.number().int(),
  status: z.enum(CREATION_STATUSES),
  /** Null but while it is made. */
  progress: creationProgress.nullable(),
  /** How many of the same kind are before it; null but while it waits. */
  waiting_before: z.number().int().nullable(),
  /** Why it was not made; null where it was, or is under way, or was stopped. It has cost nothing then. */
  error: z
    .object({
      /** One of the codes of errors. */
      code: z.string(),
      /** In the language of the request. */
      message: z.string(),
    })
    .nullable(),
  starred: z.boolean(),
  /** What it cost: nothing before it is saved, and nothing where it is not made. */
  cost_micro: micro,
  /** Null before it is saved. */
  file: creationFile.nullable(),
  /** Its call in the log of calls. */
  call_id: z.string(),
  created_at: timestamp,
  /** When it began to be made, when it was all but finished, and when it was saved, failed or was stopped. */
  rendering_at: timestamp.nullable(),
  encoding_at: timestamp.nullable(),
  ended_at: timestamp.nullable(),
})
z.globalRegistry.add(creationItem, { id: 'CreationItem' })
export type CreationItem = z.infer<typeof creationItem>

/** A run: what was asked for at one time, with its settings and what came of it. */
export const creation = z.object({
  id: z.uuid(),
  kind: z.enum(CREATION_KINDS),
  model_id: z.string(),
  /** As the catalogue calls it now; its id where the catalogue has it no more. */
  model_name: z.string(),
  source: z.enum(CALL_SOURCES),
  prompt: z.string(),
  /** What is not to be seen; empty where nothing was said. */
  negative_prompt: z.string(),
  /** Of the first picture, or of the film. */
  seed: z.number().int(),
  /** Width and height in pixels, such as `1024x1024`. */
  size: z.string(),
  /** Pictures that were asked for; of a film 1. */
  count: z.number().int(),
  /** How long the film is to be; null of pictures. */
  seconds: z.number().int().nullable(),
  /** What it is made after: a picture, or how the film begins; null where nothing was given. */
  image: creationFile.nullable(),
  /** How the film ends; null where nothing was given. */
  last_image: creationFile.nullable(),
  /** A mail tells when the film is ready. */
  mail: z.boolean(),
  /** Of all its items. */
  cost_micro: micro,
  created_at: timestamp,
  /** Then it is deleted by itself. */
  kept_until: timestamp,
  items: z.array(creationItem),
})
z.globalRegistry.add(creation, { id: 'Creation' })
export type Creation = z.infer<typeof creation>

/** Pictures and films that a list comes to, each picture by itself. */
const creationCounts = z.object({
  all: z.number().int(),
  starred: z.number().int(),
  /** What failed or was stopped. */
  not_made: z.number().int(),
  /** Under way. */
  open: z.number().int(),
})
z.globalRegistry.add(creationCounts, { id: 'CreationCounts' })

/** What is shown of a list: runs with any item that is so; each run is whole all the same. */
export const CREATION_FILTERS = ['all', 'starred', 'not_made', 'open'] as const
export type CreationFilter = (typeof CREATION_FILTERS)[number]

const kind = z.enum(CREATION_KINDS, by('not_allowed'))

export const listCreations = defineCall({
  operation: 'model.list-creations',
  method: 'GET',
  path: '/api/model-verse/creation',
  summary:
    "The customer's pictures and films by runs, newest first. The next page begins at `next_cursor`, with the same filters.",
  audience: 'user',
  timeout: 'normal',
  retry: true,
  query: z.object({
    /** Left out: both. */
    kind: kind.optional(),
    show: z.enum(CREATION_FILTERS, by('not_allowed')).default('all'),
    /** Words of a prompt, or a seed. */
    search: z.string(by('wrong_type')).trim().max(CREATION_SEARCH_CHARS_MAX, by('too_long')).optional(),
    /** `next_cursor` of the page before; left out: the first page. */
    cursor: z.string(by('wrong_type')).max(CURSOR_CHARS_MAX, by('too_long')).optional(),
    limit: z.coerce
      .number(by('not_a_number'))
      .int(by('not_whole'))
      .min(1, by('too_small'))
      .max(PAGE_SIZE_MAX, by('too_large'))
      .default(PAGE_SIZE_DEFAULT),
  }),
  data: z.object({
    items: z.array(creation),
    /** Null on the last page. */
    next_cursor: z.string().nullable(),
    /** Of the kind, whatever is shown or searched; null on later pages. */
    counts: creationCounts.nullable(),
    /** What those cost that began in this month of UTC and are still kept; null on later pages. */
    month_cost_micro: micro.nullable(),
    currency,
    kept_days: z.number().int(),
    /** What all that the customer keeps takes, of what it may take. */
    stored_bytes: z.number().int(),
    stored_bytes_max: z.number().int(),
  }),
})

const byId = z.object({ id: z.uuid(by('not_allowed')) })

export const getCreation = defineCall({
  operation: 'model.get-creation',
  method: 'GET',
  path: '/api/model-verse/creation/{id}',
  summary: 'One run of pictures, or a film, as it is now.',
  audience: 'user',
  timeout: 'fast',
  retry: true,
  params: byId,
  data: creation,
})

/** How long a model takes, as it has lately. */
const outlook = z.object({
  /** For half of the last pictures, or seconds of films, from the beginning of each; null where none was made lately. */
  median_ms: z.number().int().nullable(),
  /** Of the same kind, of all customers. */
  waiting_before: z.number().int(),
})
z.globalRegistry.add(outlook, { id: 'CreationOutlook' })

export const creationOutlook = defineCall({
  operation: 'model.creation-outlook',
  method: 'GET',
  path: '/api/model-verse/creation/outlook',
  summary:
    'How long a model takes for a picture or for a second of a film, and how many wait before one that begins now.',
  audience: 'user',
  timeout: 'fast',
  retry: true,
  query: z.object({
    model: z.string(by('required')).min(1, by('required')).max(MODEL_ID_CHARS_MAX, by('too_long')),
  }),
  data: outlook,
})

const archive = z.object({
  /** On the gateway's origin, good for some hours; null where there is nothing. */
  url: z.string().nullable(),
  files: z.number().int(),
  bytes: z.number().int(),
})
z.globalRegistry.add(archive, { id: 'CreationArchive' })

export const creationArchive = defineCall({
  operation: 'model.creation-archive',
  method: 'GET',
  path: '/api/model-verse/creation/archive',
  summary: 'Where all pictures or films of the customer are read as one ZIP file, each of them once.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  query: z.object({ kind }),
  data: archive,
})

const model = z.string(by('required')).min(1, by('required')).max(MODEL_ID_CHARS_MAX, by('too_long'))
const prompt = z
  .string(by('required'))
  .trim()
  .min(1, by('required'))
  .max(CREATION_PROMPT_CHARS_MAX, by('too_long'))
const negativePrompt = z.string(by('wrong_type')).trim().max(CREATION_PROMPT_CHARS_MAX, by('too_long'))
const seed = z
  .number(by('not_a_number'))
  .int(by('not_whole'))
  .min(0, by('too_small'))
  .max(CREATION_SEED_MAX, by('too_large'))
/** One of the model's. */
const size = z.string(by('required')).max(20, by('not_allowed'))
/** The id of a file: of a picture that was uploaded, or of one that was made. */
const picture = z.uuid(by('not_allowed')).nullable()

/** What the form for pictures sends. */
export const makeImagesBody = z.object({
  model,
  prompt,
  negative_prompt: negativePrompt.default(''),
  /** How many; each is a call of its own, with a seed of its own. */
  count: z
    .number(by('not_a_number'))
    .int(by('not_whole'))
    .min(1, by('too_small'))
    .max(CREATION_PICTURES_MAX, by('too_large')),
  size,
  /** Of the first; the gateway takes one where it is null. */
  seed: seed.nullable().default(null),
  image: picture.default(null),
})
z.globalRegistry.add(makeImagesBody, { id: 'MakeImagesBody' })

/** What the form for a film sends. */
export const makeVideoBody = z.object({
  model,
  prompt,
  negative_prompt: negativePrompt.default(''),
  size,
  /** One of the model's. */
  seconds: z
    .number(by('not_a_number'))
    .int(by('not_whole'))
    .min(1, by('too_small'))
    .max(CREATION_SECONDS_MAX, by('too_large')),
  /** The gateway takes one where it is null. */
  seed: seed.nullable().default(null),
  /** How it begins. */
  image: picture.default(null),
  /** How it ends. */
  last_image: picture.default(null),
  /** A mail tells when it is ready. */
  mail: z.boolean(by('wrong_type')).default(false),
})
z.globalRegistry.add(makeVideoBody, { id: 'MakeVideoBody' })

/** The run that has begun. What was asked stands in it alone: answers to calls that spend are kept for a day. */
const begun = z.object({ id: z.uuid() })

const CREATION_READS = [
  'model.list-creations',
  'model.get-creation',
  'model.creation-outlook',
  'model.creation-archive',
] as const
/** Money is set aside at once, and the log has the call. */
const BEGUN_READS = [
  ...CREATION_READS,
  'model.session-log',
  'model.session-log-download',
  ...MONEY_READS,
] as const

/** Calls of models have a log of their own, and what came of them is nobody's but its customer's. */
const byHand = {
  because: 'It is part of what models are asked, which is in no log but that of calls.',
} as const

export const makeImages = defineCall({
  operation: 'model.make-images',
  method: 'POST',
  path: '/api/model-verse/creation/image',
  summary: 'Has pictures made one by one and keeps them. What is made is charged, and nothing else.',
  audience: 'verified',
  timeout: 'normal',
  spends: true,
  body: makeImagesBody,
  bodyBytesMax: CREATION_BODY_BYTES_MAX,
  audit: byHand,
  stales: BEGUN_READS,
  data: begun,
})

export const makeVideo = defineCall({
  operation: 'model.make-video',
  method: 'POST',
  path: '/api/model-verse/creation/video',
  summary:
    'Has a film made, which goes on by itself. It is charged when it is ready, and costs nothing where it fails.',
  audience: 'verified',
  timeout: 'normal',
  spends: true,
  body: makeVideoBody,
  bodyBytesMax: CREATION_BODY_BYTES_MAX,
  audit: byHand,
  stales: BEGUN_READS,
  data: begun,
})

export const uploadPicture = defineCall({
  operation: 'model.upload-picture',
  method: 'POST',
  path: '/api/model-verse/creation/picture',
  summary:
    'Takes a picture that others are made after: PNG, JPEG, WebP or GIF. It waits for a day to be used.',
  audience: 'verified',
  timeout: 'download',
  bytes: true,
  bodyBytesMax: MODEL_IMAGE_BYTES_MAX,
  audit: byHand,
  stales: { because: 'Nothing has it until something is made after it.' },
  data: creationFile,
})

export const stopCreation = defineCall({
  operation: 'model.stop-creation',
  method: 'POST',
  path: '/api/model-verse/creation/{id}/stop',
  summary: 'Stops what of a run is under way, which costs nothing then. What is saved stays.',
  audience: 'user',
  timeout: 'normal',
  params: byId,
  audit: byHand,
  stales: BEGUN_READS,
  data: creation,
})

export const notifyCreation = defineCall({
  operation: 'model.notify-creation',
  method: 'PUT',
  path: '/api/model-verse/creation/{id}/mail',
  summary: 'Says whether a mail is to tell when a film is ready.',
  audience: 'verified',
  timeout: 'fast',
  params: byId,
  body: z.object({ mail: z.boolean(by('wrong_type')) }),
  audit: byHand,
  stales: CREATION_READS,
  data: creation,
})

export const deleteCreation = defineCall({
  operation: 'model.delete-creation',
  method: 'DELETE',
  path: '/api/model-verse/creation/{id}',
  summary: 'Deletes a run with all that came of it, and stops what of it is under way.',
  audience: 'user',
  timeout: 'normal',
  params: byId,
  audit: byHand,
  stales: BEGUN_READS,
  data: z.null(),
})

export const starCreation = defineCall({
  operation: 'model.star-creation',
  method: 'PUT',
  path: '/api/model-verse/creation/item/{id}/star',
  summary: 'Marks a picture or a film with a star, or takes its star away.',
  audience: 'user',
  timeout: 'fast',
  params: byId,
  body: z.object({ starred: z.boolean(by('wrong_type')) }),
  audit: byHand,
  stales: CREATION_READS,
  data: creationItem,
})

export const retryCreation = defineCall({
  operation: 'model.retry-creation',
  method: 'POST',
  path: '/api/model-verse/creation/item/{id}/retry',
  summary: 'Has one picture or film made again that was not made, with the same settings and seed.',
  audience: 'verified',
  timeout: 'normal',
  spends: true,
  params: byId,
  audit: byHand,
  stales: BEGUN_READS,
  data: begun,
})

export const creationCalls = [
  listCreations,
  creationOutlook,
  creationArchive,
  getCreation,
  makeImages,
  makeVideo,
  uploadPicture,
  stopCreation,
  notifyCreation,
  deleteCreation,
  starCreation,
  retryCreation,
] as const
