import { pictureHeadBytes } from '@berth/contract/picture-size'
import * as z from 'zod'
import type { ModelPicture } from '../../../drivers/models/port.ts'
import type { CatalogueModel } from '../../../platform/config/catalogue.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { fieldError, readAsked, requireShort } from './asked-json.ts'
import type { Lifted } from './long-texts.ts'
import { boundaryOf, readForm } from './multipart.ts'
import { decoded, requirePicture, sentPicture } from './pictures-asked.ts'

const PROMPT_CHARS_MAX = 32_000
const IMAGES_MAX = 10

const whole = (min: number, max: number) => z.number().int().min(min).max(max).nullish()

/** How a picture is made, for its server to read. */
const asServersRead = z.unknown().optional()

/**
 * What pictures are asked by. What is not known here is refused rather than passed on (decision 0130): by other names servers
 * open addresses.
 */
const imageBody = z.strictObject({
  model: z.string().min(1).max(200),
  prompt: z.string().min(1),
  negative_prompt: z.string().nullish(),
  n: whole(1, IMAGES_MAX),
  size: z.string().max(20).nullish(),
  seed: whole(0, Number.MAX_SAFE_INTEGER),
  response_format: z.enum(['url', 'b64_json']).nullish(),
  /** A picture to be made after, as a data URL. */
  image: z.string().nullish(),
  // Pieces of a picture are not passed on.
  stream: z.literal(false).nullish(),
  user: z.string().nullish(),
  quality: asServersRead,
  style: asServersRead,
  background: asServersRead,
  moderation: asServersRead,
  output_format: asServersRead,
  output_compression: asServersRead,
  input_fidelity: asServersRead,
  guidance_scale: asServersRead,
  num_inference_steps: asServersRead,
})
type ImageBody = Omit<z.output<z.ZodObject<typeof imageBody.shape>>, 'image'> & Record<string, unknown>

/** What pictures are asked by, and the one that they are made after. */
export interface AskedImages {
  body: ImageBody
  /** Long texts that the body still has marks of, by their marks. */
  texts: Lifted['texts']
  /** Read once the model is known, which says what it takes. @throws ApiError `validation_failed` */
  picture(model: Pick<CatalogueModel, 'image_input'>): ModelPicture | null
}

/** @throws ApiError `body_too_large`, `malformed_json`, `duplicate_key`, `validation_failed` */
export function readImages({ json, texts }: Lifted): AskedImages {
  const { image, ...marked } = readAsked(json, imageBody)
  // A picture is long; what stands beside it is held to what words may be.
  const others = new Map([...texts].filter(([mark]) => mark !== image))
  requireShort(json.length + [...others.values()].reduce((sum, { length }) => sum + length, 0))
  const body: ImageBody = { ...marked, prompt: spelled(marked.prompt, others) }
  if (marked.negative_prompt) body.negative_prompt = spelled(marked.negative_prompt, others)
  requirePrompts(body)
  return {
    body,
    texts: others,
    picture({ image_input: limits }) {
      if (image === null || image === undefined) return null
      if (limits === null) throw fieldError('image', 'not_allowed')
      return decoded(requirePicture(sentPicture(image, texts), limits, 'image'))
    },
  }
}

/** A text as it is read, also where it was set apart. @throws ApiError `malformed_json` */
function spelled(text: string, texts: Lifted['texts']): string {
  const quoted = texts.get(text)
  if (quoted === undefined) return text
  try {
    return JSON.parse(quoted.toString('utf8')) as string
  } catch (cause) {
    throw new ApiError('malformed_json', { cause })
  }
}

/** @throws ApiError `validation_failed` */
function requirePrompts(body: ImageBody): void {
  for (const name of ['prompt', 'negative_prompt'] as const) {
    if ((body[name] ?? '').length > PROMPT_CHARS_MAX) throw fieldError(name, 'too_long')
  }
}

const NUMBERS: readonly string[] = ['n', 'seed']

/** The same as a form, which clients send where a picture comes along. @throws ApiError `validation_failed` */
export function readImageForm(bytes: Buffer, contentType: string): AskedImages {
  const boundary = boundaryOf(contentType)
  if (boundary === null) throw fieldError('', 'not_allowed')
  const { fields, files } = readForm(bytes, boundary)
  const values = [...fields].map(
    ([name, text]) => [name, NUMBERS.includes(name) ? Number(text) : text] as const,
  )
  const { image: _, ...body } = readAsked(Buffer.from(JSON.stringify(Object.fromEntries(values))), imageBody)
  requirePrompts(body)
  return {
    body,
    texts: new Map(),
    picture({ image_input: limits }) {
      const [file, ...more] = files
      if (file === undefined) return null
      const isAlone = more.length === 0 && (file.name === 'image' || file.name === 'image[]')
      if (limits === null || !isAlone) throw fieldError(more[0]?.name ?? file.name, 'not_allowed')
      const base64 = file.bytes
      if (base64.length > limits.bytes_max) throw fieldError('image', 'picture_too_large')
      const picture = { type: file.type, bytes: file.bytes }
      const head = file.bytes.subarray(0, pictureHeadBytes(file.type))
      requirePicture({ type: file.type, base64: Buffer.from(head.toString('base64')) }, limits, 'image')
      return picture
    },
  }
}

/** What is sent on: how many, and how large, as the model makes them. @throws ApiError `validation_failed` */
export function sentImages(
  body: ImageBody,
  { sizes, images_max }: Pick<CatalogueModel, 'sizes' | 'images_max'>,
): ImageBody & { n: number; size: string } {
  const n = body.n ?? 1
  if (n > images_max) throw fieldError('n', 'too_large')
  const isUnsaid = body.size === null || body.size === undefined || body.size === 'auto'
  const size = isUnsaid ? sizes[0] : body.size
  if (typeof size !== 'string' || !sizes.includes(size)) throw fieldError('size', 'not_allowed')
  return { ...body, n, size }
}

/** How many pictures an answer holds; null for what is no answer. */
export function picturesIn(answer: Record<string, unknown> | null): number | null {
  if (!Array.isArray(answer?.data)) return null
  const isPicture = (one: unknown) => {
    const { b64_json, url } = (one ?? {}) as { b64_json?: unknown; url?: unknown }
    return [b64_json, url].some(text => typeof text === 'string' && text !== '')
  }
  return answer.data.filter(isPicture).length
}
