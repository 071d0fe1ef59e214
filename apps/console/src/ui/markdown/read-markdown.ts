import type { Root } from 'hast'

/** Longer than any honest text takes on a slow phone; a text that is made to take long is then shown as it was written. */
export const READ_MS = 8_000

/**
 * Reads Markdown in a worker, so that a text that is made to take long holds nobody's page up.
 * @param text As it was written.
 * @param signal Gives it up: the promise then stays open.
 * @returns A tree of allowed elements; null where the text is too deep, too large or takes too long.
 */
export function readMarkdown(text: string, signal: AbortSignal): Promise<Root | null> {
  return new Promise(resolve => {
    const worker = new Worker(new URL('./markdown-worker.ts', import.meta.url), { type: 'module' })
    const end = (tree: Root | null) => {
      clearTimeout(timer)
      worker.terminate()
      if (!signal.aborted) resolve(tree)
    }
    const timer = setTimeout(() => end(null), READ_MS)
    signal.addEventListener('abort', () => end(null))
    worker.onmessage = ({ data }: MessageEvent<Root | null>) => end(data)
    worker.onerror = () => end(null)
    worker.postMessage(text)
  })
}
