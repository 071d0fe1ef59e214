import { answerBlocks } from './answer-blocks.ts'

/** A text to read, so far. */
export interface AnswerText {
  text: string
  key: string
}

/** What a worker is to itself; the types of a page know it as a window. */
interface WorkerScope {
  addEventListener(type: 'message', listener: (event: MessageEvent<AnswerText>) => void): void
  postMessage(message: unknown): void
}

const scope = self as unknown as WorkerScope

// One text, its elements; null where it cannot be drawn, which includes one that is deeper than the reader's own stack.
scope.addEventListener('message', async ({ data }) => scope.postMessage(await blocksOf(data)))

async function blocksOf({ text, key }: AnswerText): Promise<string[] | null> {
  try {
    return await answerBlocks(text, key)
  } catch {
    return null
  }
}
