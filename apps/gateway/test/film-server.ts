import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A film as the double gives it: it begins as WebM does. */
export const FILM = Buffer.concat([
  Buffer.from([0x1a, 0x45, 0xdf, 0xa3]),
  Buffer.alloc(1_200_000, 'a film of some length '),
])

type Answering = (response: ServerResponse, request: { id: string; body: string }) => void

/** What it does, where that is other than making a film in a few looks. */
export interface FilmPlan {
  begin?: Answering
  look?: Answering
  content?: Answering
  /** Looks until it is ready. */
  looks?: number
  /** How long it says that the film is. */
  seconds?: string
}

export interface FilmServerDouble {
  url: string
  /** As they came: `POST /v1/videos`. */
  asked: { line: string; authorization: string | undefined; body: string }[]
  /** Films that are there. */
  films: Map<string, { looks: number }>
  plan: FilmPlan
  close(): Promise<void>
}

/** A server that makes films by OpenAI's protocol, as far as anybody sees. */
export async function startFilmServer(): Promise<FilmServerDouble> {
  const double: Omit<FilmServerDouble, 'url' | 'close'> = { asked: [], films: new Map(), plan: {} }
  const server = createServer((request, response) => {
    void (async () => {
      const body = await textOf(request)
      const line = `${request.method} ${request.url}`
      double.asked.push({ line, authorization: request.headers.authorization, body })
      const [, id = '', rest = ''] = /^\S+ \/v1\/videos(?:\/([^/]+))?(\/content)?$/.exec(line) ?? []
      if (request.method === 'DELETE') {
        double.films.delete(id)
        return sends(response, { id, object: 'video.deleted', deleted: true })
      }
      if (request.method === 'POST') {
        if (double.plan.begin) return double.plan.begin(response, { id, body })
        const name = `video_${double.asked.length}`
        double.films.set(name, { looks: 0 })
        return sends(response, filmOf(name, 'queued', 0))
      }
      if (rest) {
        if (double.plan.content) return double.plan.content(response, { id, body })
        response.writeHead(200, { 'content-type': 'video/webm', 'content-length': FILM.length })
        return response.end(FILM)
      }
      if (double.plan.look) return double.plan.look(response, { id, body })
      const film = double.films.get(id)
      if (!film) return refusesFilm(404, 'no such film')(response, { id, body })
      film.looks += 1
      const { looks = 2, seconds } = double.plan
      const isReady = film.looks >= looks
      sends(response, {
        ...filmOf(id, isReady ? 'completed' : 'in_progress', Math.min(99, film.looks * 10)),
        ...(seconds !== undefined && { seconds }),
      })
    })()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return Object.assign(double, {
    url: `http://127.0.0.1:${port}/v1`,
    close: () =>
      new Promise<void>(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  })
}

const filmOf = (id: string, status: string, progress: number) => ({
  ...{ id, object: 'video', status, progress, created_at: 1_700_000_000, model: 'theirs', error: null },
})

/** Answers with JSON. */
function sends(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

/** Says how a film is, which need not be true. */
export const seems =
  (status: string, more: object = {}): Answering =>
  (response, { id }) =>
    sends(response, { ...filmOf(id, status, 0), ...more })

/** Refuses as servers do. */
export const refusesFilm =
  (status: number, message: string): Answering =>
  response =>
    sends(response, { error: { message, type: 'invalid_request_error', param: null, code: null } }, status)

async function textOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString('latin1')
}
