/**
 * The port of hosted models: whoever answers what customers ask models, by OpenAI's protocol. What it answers is passed on
 * as it comes; the domain reads from it what was used.
 */
export interface ModelServer {
  /** For the log, such as `http://127.0.0.1:11434/v1`; nothing secret. */
  readonly name: string
  /**
   * Asks for an answer.
   * @throws ModelServerFailed where no answer began, so that another one may be asked.
   */
  ask(request: ModelRequest): Promise<ModelAnswer>
  /** Makes films, which takes longer than anybody waits: each has a name there, by which it is asked for again. */
  readonly films: FilmServer
}

/**
 * Films by OpenAI's protocol: begun, looked at until they are ready, fetched, removed. Any gateway may go on with what another
 * one began. Every call fails with ModelServerFailed where no answer came, and with FilmRefused or FilmAnswerWrong for one
 * that is none.
 */
export interface FilmServer {
  begin(order: FilmOrder, signal: AbortSignal): Promise<FilmSeen>
  look(id: string, signal: AbortSignal): Promise<FilmSeen>
  /** Of one that is completed. */
  fetch(id: string, signal: AbortSignal): Promise<FilmBytes>
  /** Ends it where it is under way, and removes what there is of it. Not there: returns. */
  remove(id: string, signal: AbortSignal): Promise<void>
}

/** What a film is made by. */
export interface FilmOrder {
  prompt: string
  /** Empty where nothing was said. */
  negativePrompt: string
  seed: number
  /** Such as `1280x720`. */
  size: string
  seconds: number
  /** How it begins, and how it ends. */
  image: ModelPicture | null
  lastImage: ModelPicture | null
}

/** How a film is; what a server does not say, or nothing sensible of, is null. */
export interface FilmSeen {
  id: string
  status: 'queued' | 'in_progress' | 'completed' | 'failed'
  /** From 0 to 100. */
  percent: number | null
  /** Frames that are made, and that it will have. */
  frame: number | null
  frames: number | null
  /** How long it is. */
  seconds: number | null
  /** Why it failed, in the server's words. */
  reason: string | null
}

/** A film as it comes. */
export interface FilmBytes {
  /** As the server says it, in small letters; empty where it says nothing. */
  contentType: string
  /** How long it will be, where the server says so. */
  bytes: number | null
  /** It fails where it breaks off. */
  body: AsyncIterable<Uint8Array>
}

/** A server refused what was asked about a film. */
export class FilmRefused extends Error {
  readonly status: number
  /** In its words; empty where it said none. */
  readonly reason: string

  constructor(server: string, status: number, reason: string) {
    super(`the model server ${server} refused with ${status}`)
    this.name = 'FilmRefused'
    this.status = status
    this.reason = reason
  }
}

/** A server answered something else than the protocol says. */
export class FilmAnswerWrong extends Error {
  constructor(server: string, what: string) {
    super(`the model server ${server} gave ${what}`)
    this.name = 'FilmAnswerWrong'
  }
}

/** The paths of the protocol that are asked, below where it begins. */
export type ModelPath = 'chat/completions' | 'completions' | 'embeddings' | 'images/generations'

export interface ModelRequest {
  path: ModelPath
  /** What is asked, with the model as the catalogue calls it; long texts, such as pictures, are marks. */
  body: Readonly<Record<string, unknown>>
  /** Those texts by their marks, each as JSON with its quotes. */
  texts: ReadonlyMap<string, Uint8Array>
  /** A picture that another is to be made after, beside the body; left out: none. */
  picture?: ModelPicture | null
  /** Aborts when the customer has left or it takes too long. */
  signal: AbortSignal
}

export interface ModelPicture {
  /** Such as `image/png`. */
  type: string
  bytes: Uint8Array
}

/** An answer that has begun. */
export interface ModelAnswer {
  status: number
  /** As the server says it, in small letters; empty where it says nothing. */
  contentType: string
  /** Seconds after which it may be asked again, where it says so. */
  retryAfterSeconds: number | null
  /** As it comes; it fails where it breaks off. */
  body: AsyncIterable<Uint8Array>
}

/** A server gave no answer: it could not be reached, or said nothing in time. */
export class ModelServerFailed extends Error {
  constructor(server: string, cause: unknown) {
    super(`the model server ${server} gave no answer`, { cause })
    this.name = 'ModelServerFailed'
  }
}
