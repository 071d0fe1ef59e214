import { pathToFileURL } from 'node:url'
import type { HistoryItem } from './asked-chat.ts'
import type { LocalModelOrders } from './words.ts'

/** What is used of `node-llama-cpp`, which is no dependency: it is there where an operator wants it. */
export interface LlamaPackage {
  getLlama(
    options: Record<string, unknown>,
  ): Promise<{ loadModel(options: { modelPath: string }): Promise<LlamaModel> }>
  LlamaChat: new (options: { contextSequence: Sequence }) => Chat
  InsufficientMemoryError: new () => Error
}

interface LlamaModel {
  readonly trainContextSize: number
  tokenize(text: string): unknown[]
  createContext(
    options: Record<string, unknown>,
  ): Promise<{ readonly contextSize: number; getSequence(): Sequence }>
}

export interface Sequence {
  readonly tokenMeter: {
    getState(): object
    diff(since: object): { usedInputTokens: number; usedOutputTokens: number }
  }
  dispose(): void
}

interface Chat {
  generateResponse(
    history: HistoryItem[],
    options: Record<string, unknown>,
  ): Promise<{ response: string; metadata: { stopReason: string } }>
}

/** Answers at a time, each in a sequence of its own; one thread works on all of them. */
export const SEQUENCES = 2
const CONTEXT_TOKENS_MIN = 512

/** A model that is in memory. */
export interface LoadedModel {
  contextTokens: number
  countTokens(text: string): number
  sequence(): Sequence
  chat(contextSequence: Sequence): Chat
}

/** Loads the model by the prebuilt program that came with the package: nothing is built or downloaded here. */
export async function loadModel(orders: LocalModelOrders): Promise<LoadedModel> {
  const { engine, file, threads, contextTokens } = orders
  const llamaPackage = (await import(pathToFileURL(engine).href)) as LlamaPackage
  const llama = await llamaPackage.getLlama({
    ...{ gpu: false, build: 'never', skipDownload: true, progressLogs: false },
    // More threads than processors and each waits for the other.
    ...{ maxThreads: threads, logLevel: 'error' },
  })
  const model = await llama.loadModel({ modelPath: file })
  const max = Math.max(CONTEXT_TOKENS_MIN, Math.min(contextTokens, model.trainContextSize))
  // As much as there is memory for.
  const context = await model.createContext({
    ...{ contextSize: { min: CONTEXT_TOKENS_MIN, max }, sequences: SEQUENCES, threads },
  })
  return {
    contextTokens: context.contextSize,
    countTokens: text => model.tokenize(text).length,
    sequence: () => context.getSequence(),
    chat: contextSequence => new llamaPackage.LlamaChat({ contextSequence }),
  }
}
