import { markdownTree } from './markdown-tree.ts'

/** What a worker is to itself; the types of a page know it as a window. */
interface WorkerScope {
  addEventListener(type: 'message', listener: (event: MessageEvent<string>) => void): void
  postMessage(message: unknown): void
}

const scope = self as unknown as WorkerScope

// One text, one tree; null where it cannot be drawn, which includes one that is deeper than the reader's own stack.
scope.addEventListener('message', ({ data }) => scope.postMessage(treeOf(data)))

function treeOf(text: string): unknown {
  try {
    return markdownTree(text)
  } catch {
    return null
  }
}
