import { CREATION_PROMPT_CHARS_MAX, CREATION_SEED_MAX } from '@berth/contract/limits'
import * as z from 'zod'
import type { ModelPicture } from '../../../drivers/models/port.ts'
import type { CatalogueModel } from '../../../platform/config/catalogue.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { unstorableTexts } from '../../../platform/http/input-shape.ts'
import type { Ids } from '../../../platform/ids.ts'
import { fieldError, liftAsked, readAsked } from '../calls/asked-json.ts'
import { boundaryOf, readForm } from '../calls/multipart.ts'
import { decoded, requirePicture, sentPicture } from '../calls/pictures-asked.ts'
import type { MakeVideo } from './ask-creations.ts'

const text = z.string().max(CREATION_PROMPT_CHARS_MAX)
const picture = z.union([z.string(), z.strictObject({ image_url: z.string() })]).nullish()

/** What a film is asked by in OpenAI's protocol, with what most servers have beside it. What is not known is refused. */
const videoBody = z.strictObject({
  model: z.string().min(1).max(200),
  prompt: text.min(1),
  negative_prompt: text.nullish(),
  /** Clients send numbers as texts. */
  seconds: z.union([z.string().regex(/^\d{1,3}$/), z.number().int()]).nullish(),
  size: z.string().max(20).nullish(),
  seed: z.number().int().min(0).max(CREATION_SEED_MAX).nullish(),
  input_reference: picture,
  last_image: picture,
  user: z.string().nullish(),
})

/** A film that is asked for, and the pictures that came with it. */
export interface AskedVideo {
  order: Omit<MakeVideo, 'image' | 'last_image' | 'mail'>
  pictures: { image: ModelPicture | null; last_image: ModelPicture | null }
}

/**
 * Reads what a client asks a film by, as JSON or as a form.
 * @param modelOf Finds the model that is named.
 * @throws ApiError `body_too_large`, `malformed_json`, `validation_failed`, and what `modelOf` throws.
 */
export function readVideo(
  { body, contentType }: { body: Buffer; contentType: string },
  { ids, modelOf }: { ids: Pick<Ids, 'secret'>; modelOf(id: string): CatalogueModel },
): AskedVideo {
  const isForm = contentType.toLowerCase().startsWith('multipart/')
  const { fields, pictures } = isForm ? ofForm(body, contentType) : ofJson(body, ids)
  // Unlike other questions, this one is kept.
  const unstorable = unstorableTexts({ ...fields, input_reference: null, last_image: null })
  if (unstorable.length > 0) throw new ApiError('validation_failed', { fields: unstorable })
  const model = modelOf(fields.model)
  const { prompt, negative_prompt, seed } = fields
  const seconds = Number(fields.seconds ?? model.video_seconds[0])
  const size = fields.size ?? model.sizes[0] ?? ''
  return {
    order: {
      ...{ model: model.id, prompt, negative_prompt: negative_prompt ?? '', seconds, size },
      seed: seed ?? null,
    },
    pictures: {
      image: pictures('input_reference', model.image_input),
      last_image: pictures('last_image', model.image_input),
    },
  }
}

type PictureField = 'input_reference' | 'last_image'
interface Fields {
  fields: z.output<typeof videoBody>
  pictures(name: PictureField, limits: CatalogueModel['image_input']): ModelPicture | null
}

function ofJson(body: Buffer, ids: Pick<Ids, 'secret'>): Fields {
  const { json, texts } = liftAsked(body, ids)
  const fields = readAsked(json, videoBody)
  return {
    fields,
    pictures(name, limits) {
      const said = fields[name]
      if (said === null || said === undefined) return null
      if (limits === null) throw fieldError(name, 'not_allowed')
      const url = typeof said === 'string' ? said : said.image_url
      return decoded(requirePicture(sentPicture(url, texts), limits, name))
    },
  }
}

function ofForm(body: Buffer, contentType: string): Fields {
  const boundary = boundaryOf(contentType)
  if (boundary === null) throw fieldError('', 'not_allowed')
  const form = readForm(body, boundary)
  const values = [...form.fields].map(([name, value]) => [name, name === 'seed' ? Number(value) : value])
  const fields = readAsked(Buffer.from(JSON.stringify(Object.fromEntries(values))), videoBody)
  const strange = form.files.find(({ name }) => name !== 'input_reference' && name !== 'last_image')
  if (strange) throw fieldError(strange.name, 'not_allowed')
  return {
    fields,
    pictures(name, limits) {
      // A text in its place would be an address.
      if (fields[name] !== null && fields[name] !== undefined) throw fieldError(name, 'picture_address')
      const [file, ...more] = form.files.filter(one => one.name === name)
      if (file === undefined) return null
      if (limits === null || more.length > 0) throw fieldError(name, 'not_allowed')
      return { type: file.type, bytes: file.bytes }
    },
  }
}
