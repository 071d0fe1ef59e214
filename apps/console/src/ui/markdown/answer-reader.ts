import type { AnswerText } from './answer-worker.ts'
import { READ_MS } from './read-markdown.ts'

type Blocks = readonly string[] | null

/** Reads texts that grow, one after the other, and keeps its worker for as long as the page has any. */
export interface AnswerReader {
  /**
   * Reads a text as it is so far.
   * @returns Its elements as JSON; null where it is too deep, too large or takes too long.
   */
  read: (text: AnswerText) => Promise<Blocks>
  /** Ends the worker. What was asked and not read stays open. */
  end: () => void
}

/**
 * Makes a reader of answers. A text that is made to take long ends its worker and is shown as it was written; the next one
 * has a new worker.
 */
export function createAnswerReader(): AnswerReader {
  const waiting: { text: AnswerText; tell: (blocks: Blocks) => void }[] = []
  let worker: Worker | null = null
  let timer: ReturnType<typeof setTimeout> | undefined

  function next(): void {
    const [first] = waiting
    if (!first) return
    worker ??= start()
    timer = setTimeout(lose, READ_MS)
    worker.postMessage(first.text)
  }

  function told(blocks: Blocks): void {
    clearTimeout(timer)
    waiting.shift()?.tell(blocks)
    next()
  }

  function lose(): void {
    worker?.terminate()
    worker = null
    told(null)
  }

  function start(): Worker {
    const made = new Worker(new URL('./answer-worker.ts', import.meta.url), { type: 'module' })
    made.onmessage = ({ data }: MessageEvent<Blocks>) => told(data)
    made.onerror = lose
    return made
  }

  return {
    read: text =>
      new Promise(tell => {
        waiting.push({ text, tell })
        if (waiting.length === 1) next()
      }),
    end() {
      clearTimeout(timer)
      waiting.length = 0
      worker?.terminate()
      worker = null
    },
  }
}
