import type { CreationStatus } from '@berth/contract/creation-states'
import type { Creation } from '@berth/contract/creations'
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from '@berth/contract/limits'
import { COST_HEADER } from '@berth/contract/models'
import * as z from 'zod'
import { ApiError } from '../../../platform/http/api-error.ts'
import { errorText } from '../../../platform/http/error-texts.ts'
import type { RawAnswer, RawRequest, RawRoute } from '../../../platform/http/raw-routes.ts'
import { fieldError } from '../calls/asked-json.ts'
import type { ModelCaller } from '../calls/call-book.ts'
import { readVideo } from '../creations/asked-video.ts'
import { answerWithFile } from '../creations/file-route.ts'
import { endingOf } from '../creations/file-types.ts'
import type { KeyHolder } from '../known-keys.ts'
import type { Models } from '../models.ts'
import { JSON_HEADERS } from './chat-answer.ts'

type Answer = (request: RawRequest, caller: ModelCaller & KeyHolder) => Promise<RawAnswer>

interface VideoParts {
  /** What all addresses of the protocol have. */
  common: Omit<RawRoute, 'methods' | 'path' | 'handle'>
  /** Answers a holder of a key. */
  answering(path: string, answer: Answer): RawRoute['handle']
}

const MS_PER_SECOND = 1_000
const PREFIX = 'video_'
const filmId = z.uuid()

const STATUS: Record<CreationStatus, 'queued' | 'in_progress' | 'completed' | 'failed'> = {
  queued: 'queued',
  rendering: 'in_progress',
  encoding: 'in_progress',
  saved: 'completed',
  failed: 'failed',
  // The protocol knows no other word for what will never be.
  stopped: 'failed',
}

const listQuery = z.object({
  after: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(PAGE_SIZE_MAX).default(PAGE_SIZE_DEFAULT),
  order: z.enum(['asc', 'desc']).default('desc'),
})

/** `/v1/videos`: films by OpenAI's protocol. A key sees those that it had made, as they are in the console, too. */
export function videoRoutes(
  { creations, desk }: Pick<Models, 'creations' | 'desk'>,
  { common, answering }: VideoParts,
): RawRoute[] {
  const modelOf = (id: string) => desk.model(id, ['video'])
  const tellingOf = ({ language }: Pick<RawRequest, 'language'>) => ({
    language,
    say: (text: string) => text,
  })
  const find = (request: RawRequest, holder: KeyHolder) =>
    creations.films.get(holder, idOf(request.params.id), tellingOf(request))

  async function create(request: RawRequest, caller: ModelCaller & KeyHolder): Promise<RawAnswer> {
    const contentType = String(request.headers['content-type'] ?? '')
    const { order, pictures } = readVideo(
      { body: request.body, contentType },
      { ids: creations.ids, modelOf },
    )
    const keep = async (picture: (typeof pictures)['image'], field: string) =>
      picture && (await creations.keepPicture(caller.userId, picture.bytes, field)).id
    const image = await keep(pictures.image, 'input_reference')
    const last_image = await keep(pictures.last_image, 'last_image')
    const { id } = await creations.makeVideo(caller, { ...order, image, last_image, mail: false })
    return json(videoOf(await creations.films.get(caller, id, tellingOf(request)), request))
  }

  async function list(request: RawRequest, holder: KeyHolder): Promise<RawAnswer> {
    const { data: asked, error } = listQuery.safeParse(request.query)
    if (!asked) throw fieldError(String(error.issues[0]?.path[0] ?? ''), 'not_allowed')
    const page = {
      ...{ after: asked.after === undefined ? null : idOf(asked.after), limit: asked.limit },
      isAscending: asked.order === 'asc',
    }
    const found = await creations.films.list(holder, page, tellingOf(request))
    const data = found.slice(0, asked.limit).map(film => videoOf(film, request))
    return json({
      ...{ object: 'list', data, has_more: found.length > asked.limit },
      ...{ first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null },
    })
  }

  async function content(request: RawRequest, holder: KeyHolder): Promise<RawAnswer> {
    const { variant = 'video' } = request.query
    if (variant !== 'video') throw fieldError('variant', 'not_allowed')
    const [item] = (await find(request, holder)).items
    const file = item?.file && (await creations.files.find(item.file.id))
    if (!item?.file || !file) throw new ApiError('creation_state')
    const { headers } = request
    const saved = `${PREFIX}${item.id}.${endingOf(file.type)}`
    return answerWithFile(
      creations.files,
      { id: item.file.id, ...file },
      { headers, saved, caching: 'no-store' },
    )
  }

  return [
    { ...common, methods: ['POST'], path: '/v1/videos', handle: answering('videos', create) },
    { ...common, methods: ['GET'], path: '/v1/videos', handle: answering('videos', list) },
    {
      ...common,
      methods: ['GET'],
      path: '/v1/videos/:id',
      handle: answering('videos', async (request, holder) => {
        const film = await find(request, holder)
        return json(videoOf(film, request), { [COST_HEADER]: film.cost_micro })
      }),
    },
    { ...common, methods: ['GET'], path: '/v1/videos/:id/content', handle: answering('videos', content) },
    {
      ...common,
      methods: ['DELETE'],
      path: '/v1/videos/:id',
      // Of one that is under way it is how it is stopped.
      handle: answering('videos', async (request, holder) => {
        const { id } = await find(request, holder)
        await creations.removeRun(holder.userId, id)
        return json({ id: nameOf(id), object: 'video.deleted', deleted: true })
      }),
    },
  ]
}

/** A film as clients of the protocol read it, with its seed and what is not to be seen beside. */
function videoOf(film: Creation, { language }: Pick<RawRequest, 'language'>) {
  const [item] = film.items
  const status = item?.status ?? 'failed'
  const secondsOf = (at: string | null | undefined) =>
    at ? Math.floor(Date.parse(at) / MS_PER_SECOND) : null
  const stopped = { code: 'cancelled', message: errorText(language, 'cancelled', {}) }
  return {
    ...{ id: nameOf(film.id), object: 'video', model: film.model_id, status: STATUS[status] },
    progress: status === 'saved' ? 100 : (item?.progress?.percent ?? 0),
    created_at: secondsOf(film.created_at),
    completed_at: status === 'saved' ? secondsOf(item?.ended_at) : null,
    expires_at: secondsOf(film.kept_until),
    error: status === 'stopped' ? stopped : (item?.error ?? null),
    ...{ prompt: film.prompt, negative_prompt: film.negative_prompt, seed: film.seed },
    ...{ seconds: String(film.seconds), size: film.size, remixed_from_video_id: null },
  }
}

const nameOf = (id: string): string => `${PREFIX}${id.replaceAll('-', '')}`

/** @throws ApiError `not_found` for what is the name of no film. */
function idOf(name: string | undefined): string {
  const [, hex = ''] = /^video_([0-9a-f]{32})$/.exec(name ?? '') ?? []
  const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  if (!filmId.safeParse(id).success) throw new ApiError('not_found')
  return id
}

function json(value: object, headers: Record<string, string> = {}): RawAnswer {
  return { status: 200, headers: { ...JSON_HEADERS, ...headers }, body: JSON.stringify(value) }
}
