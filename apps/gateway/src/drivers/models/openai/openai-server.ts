import { encodeBody, encodeValue } from '../encode-body.ts'
import {
  type ModelAnswer,
  type ModelPicture,
  type ModelRequest,
  type ModelServer,
  ModelServerFailed,
} from '../port.ts'
import { createOpenAiFilms } from './openai-films.ts'
import { post } from './post.ts'
import { untilSilent } from './until-silent.ts'

/** An answer has begun by then: the first token of a long question may take a while. */
const HEAD_MS = 120_000
/** What says nothing for so long in the midst of an answer will not go on. */
const SILENT_MS = 60_000
const RETRY_AFTER_SECONDS_MAX = 3_600
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308]

/** How an answer begins. */
interface Head {
  status: number
  contentType: string | null
  retryAfter: string | null
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>
}

export interface OpenAiServerOptions {
  /** Up to where the paths of the protocol begin, without a slash at its end. */
  url: string
  /** Null where the server takes none. */
  key: string | null
  /** What the server calls the model. */
  model: string
  headMs?: number
  silentMs?: number
}

/**
 * A server that speaks OpenAI's protocol: vLLM, Ollama, llama.cpp, SGLang, LiteLLM, OpenAI itself. It is never followed to
 * another address, so that its key stays with it.
 */
export function createOpenAiServer(options: OpenAiServerOptions): ModelServer {
  const { url, key, model, headMs = HEAD_MS, silentMs = SILENT_MS } = options
  const authorization: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` }

  /** What is asked after a picture is a form, at an address of its own. */
  async function askWithPicture(
    request: ModelRequest,
    picture: ModelPicture,
    signal: AbortSignal,
  ): Promise<Head> {
    const body = formOf(request, model, picture)
    const init = { method: 'POST', headers: authorization, body, redirect: 'error', signal } as const
    const response = await fetch(`${url}/images/edits`, init)
    return {
      status: response.status,
      contentType: response.headers.get('content-type'),
      retryAfter: response.headers.get('retry-after'),
      body: response.body ?? [],
    }
  }

  async function askWithJson(request: ModelRequest, signal: AbortSignal): Promise<Head> {
    const headers = { 'content-type': 'application/json', ...authorization }
    const body = encodeBody(request, { model })
    // What a picture costs is worth a connection of its own, on which nothing is sent again.
    const mayWait = request.path !== 'images/generations'
    const answer = await post(`${url}/${request.path}`, { headers, body, signal }, mayWait)
    const { statusCode: status = 0, headers: said } = answer
    if (REDIRECTS.includes(status)) {
      answer.destroy()
      throw new Error(`it leads to another address (${status})`)
    }
    return {
      status,
      contentType: said['content-type'] ?? null,
      retryAfter: said['retry-after'] ?? null,
      body: answer,
    }
  }

  async function ask(request: ModelRequest): Promise<ModelAnswer> {
    const { signal } = request
    const asking = new AbortController()
    const stop = () => asking.abort(signal.reason)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    const late = setTimeout(() => asking.abort(new Error('no answer began in time')), headMs)
    try {
      const { picture } = request
      const head = await (picture
        ? askWithPicture(request, picture, asking.signal)
        : askWithJson(request, asking.signal))
      return {
        status: head.status,
        contentType: head.contentType?.toLowerCase() ?? '',
        retryAfterSeconds: secondsOf(head.retryAfter),
        body: untilSilent(head.body, asking, silentMs, () => signal.removeEventListener('abort', stop)),
      }
    } catch (error) {
      signal.removeEventListener('abort', stop)
      throw new ModelServerFailed(url, error)
    } finally {
      clearTimeout(late)
    }
  }

  return { name: url, ask, films: createOpenAiFilms(options) }
}

/** Fields as parts of a form; what is no text or number is JSON. */
function formOf({ body, texts }: ModelRequest, model: string, { type, bytes }: ModelPicture): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries({ ...body, model })) {
    if (value === null || value === undefined) continue
    form.set(name, typeof value === 'object' ? encodeValue(value, texts).toString('utf8') : String(value))
  }
  const file = new Blob([bytes as Uint8Array<ArrayBuffer>], { type })
  form.set('image', file, `image.${type.replace('image/', '')}`)
  return form
}

function secondsOf(header: string | null): number | null {
  const seconds = Number(header ?? Number.NaN)
  return Number.isFinite(seconds) && seconds >= 0
    ? Math.min(RETRY_AFTER_SECONDS_MAX, Math.ceil(seconds))
    : null
}
