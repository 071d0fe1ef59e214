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
