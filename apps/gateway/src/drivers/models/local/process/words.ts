/** What the gateway tells the process of the local model, once. */
export interface LocalModelOrders {
  /** The module of `node-llama-cpp`. */
  engine: string
  /** The model's GGUF file. */
  file: string
  threads: number
  /** Of one answer, prompt and all, at the most. */
  contextTokens: number
  /** Whoever asks it shows this. */
  secret: string
}

/** What it says. */
export type FromLocalModel =
  | { says: 'listening'; port: number; contextTokens: number }
  /** It cannot run here, however often it is started. */
  | { says: 'unfit'; why: string }
  /** For the log. */
  | { says: 'error'; text: string }
