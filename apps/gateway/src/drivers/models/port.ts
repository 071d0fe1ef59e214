/**
 * The port of hosted models: whoever answers what customers ask models, by OpenAI's protocol. What it answers is passed on
 * as it comes; the domain reads from it what was used.
 */
export interface ModelServer {
  /** For the log, such as `http://127.0.0.1:11434/v1`; nothing secret. */
  readonly name: string
  /**
   * Asks for the answer to a chat.
   * @throws ModelServerFailed where no answer began, so that another one may be asked.
   */
  chat(request: ChatRequest): Promise<ChatAnswer>
}

export interface ChatRequest {
  /** The body of `/chat/completions`, with the model as the catalogue calls it. */
  body: Readonly<Record<string, unknown>>
  /** Aborts when the customer has left or it takes too long. */
  signal: AbortSignal
}

/** An answer that has begun. */
export interface ChatAnswer {
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
