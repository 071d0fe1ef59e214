import * as z from 'zod'
import {
  FilmAnswerWrong,
  type FilmBytes,
  type FilmOrder,
  FilmRefused,
  type FilmSeen,
  type FilmServer,
  type ModelPicture,
  ModelServerFailed,
} from '../port.ts'
import { untilSilent } from './until-silent.ts'

/** Whoever says how a film is says so at once; one that is begun may be checked first. */
const ANSWER_MS = 60_000
const SILENT_MS = 60_000
const ANSWER_BYTES_MAX = 1_000_000
const REASON_CHARS_MAX = 500
const REFUSED = 400
const NOT_FOUND = 404

/** What films are called: it becomes part of an address, so it is nothing that leads elsewhere. */
const FILM_ID = /^[A-Za-z0-9_][A-Za-z0-9_.:~-]{0,499}$/

const count = z.number().int().min(0).max(1_000_000).nullish().catch(null)

/** What is read of how a film is. Only its name and its status must be there. */
const filmSaid = z.object({
  id: z.string().regex(FILM_ID),
  status: z.enum(['queued', 'in_progress', 'completed', 'failed']),
  progress: z.number().nullish().catch(null),
  // Some say it as a text, as it is asked.
  seconds: z.coerce.number().int().min(1).max(86_400).nullish().catch(null),
  frame: count,
  frames: count,
  error: z.object({ message: z.string().nullish() }).nullish().catch(null),
})

interface FilmsOptions {
  url: string
  key: string | null
  model: string
  silentMs?: number
}

/** Films at a server that speaks OpenAI's protocol: vLLM-Omni, LiteLLM and others. It is never followed to another address. */
export function createOpenAiFilms({ url, key, model, silentMs = SILENT_MS }: FilmsOptions): FilmServer {
  const headers: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` }

  async function request(path: string, init: RequestInit, signal: AbortSignal): Promise<Response> {
    try {
      return await fetch(`${url}/videos${path}`, { ...init, headers, redirect: 'error', signal })
    } catch (error) {
      throw new ModelServerFailed(url, error)
    }
  }

  /** An answer that is no film but says something, which is short. */
  async function said(path: string, init: RequestInit, signal: AbortSignal): Promise<FilmSeen> {
    const within = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)])
    const response = await request(path, init, within)
    const text = await textOf(response, url)
    if (response.status >= REFUSED) throw new FilmRefused(url, response.status, reasonOf(text))
    const read = filmSaid.safeParse(jsonOf(text))
    if (!read.success) throw new FilmAnswerWrong(url, 'no film')
    const { id, status, progress, seconds, frame, frames, error } = read.data
    return {
      id,
      status,
      percent: progress == null ? null : Math.round(Math.min(100, Math.max(0, progress))),
      frame: frame ?? null,
      frames: frames ?? null,
      seconds: seconds ?? null,
      reason: error?.message?.slice(0, REASON_CHARS_MAX) ?? null,
    }
  }

  async function open(id: string, signal: AbortSignal): Promise<FilmBytes> {
    const asking = new AbortController()
    const stop = () => asking.abort(signal.reason)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    const late = setTimeout(() => asking.abort(new Error('no film began in time')), ANSWER_MS)
    try {
      const response = await request(`/${id}/content`, {}, asking.signal)
      if (response.status >= REFUSED) {
        throw new FilmRefused(url, response.status, reasonOf(await textOf(response, url)))
      }
      const length = Number(response.headers.get('content-length') ?? Number.NaN)
      return {
        contentType: response.headers.get('content-type')?.toLowerCase() ?? '',
        bytes: Number.isSafeInteger(length) ? length : null,
        body: untilSilent(response.body ?? [], asking, silentMs, () =>
          signal.removeEventListener('abort', stop),
        ),
      }
    } catch (error) {
      signal.removeEventListener('abort', stop)
      throw error
    } finally {
      clearTimeout(late)
    }
  }

  return {
    begin: (order, signal) => said('', { method: 'POST', body: formOf(order, model) }, signal),
    look: (id, signal) => said(`/${id}`, {}, signal),
    fetch: open,
    async remove(id, signal) {
      const within = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)])
      const response = await request(`/${id}`, { method: 'DELETE' }, within)
      await response.body?.cancel()
      if (response.status >= REFUSED && response.status !== NOT_FOUND) {
        throw new FilmRefused(url, response.status, '')
      }
    },
  }
}

/**
 * What a film is asked by: a form, which all servers of the protocol take. Fields that OpenAI does not have are named as
 * servers name them that do, and are there only where they were given.
 */
function formOf(order: FilmOrder, model: string): FormData {
  const { prompt, negativePrompt, seed, size, seconds, image, lastImage } = order
  const form = new FormData()
  const fields = { model, prompt, seconds: String(seconds), size, seed: String(seed) }
  for (const [name, text] of Object.entries(fields)) form.set(name, text)
  if (negativePrompt !== '') form.set('negative_prompt', negativePrompt)
  if (image) addPicture(form, 'input_reference', image)
  if (lastImage) addPicture(form, 'last_image', lastImage)
  return form
}

function addPicture(form: FormData, name: string, { type, bytes }: ModelPicture): void {
  form.set(
    name,
    new Blob([bytes as Uint8Array<ArrayBuffer>], { type }),
    `${name}.${type.replace('image/', '')}`,
  )
}

async function textOf(response: Response, url: string): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const piece of response.body ?? []) {
      bytes += piece.length
      if (bytes > ANSWER_BYTES_MAX) throw new FilmAnswerWrong(url, 'an answer without an end')
      pieces.push(piece)
    }
  } catch (error) {
    throw error instanceof FilmAnswerWrong ? error : new ModelServerFailed(url, error)
  }
  return Buffer.concat(pieces).toString('utf8')
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const refusal = z.object({ error: z.object({ message: z.string() }) })

function reasonOf(text: string): string {
  const read = refusal.safeParse(jsonOf(text))
  return read.success ? read.data.error.message.slice(0, REASON_CHARS_MAX) : ''
}
