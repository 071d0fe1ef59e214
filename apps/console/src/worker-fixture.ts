import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Worker as NodeWorker } from 'node:worker_threads'
import { onTestFinished } from 'vitest'

/** What addresses of modules are relative to in a test. */
const ROOT = resolve(import.meta.dirname, '../../..')

/** What a browser's worker finds around itself, made of what Node's has. */
const AROUND = `
import { parentPort, workerData } from 'node:worker_threads'
globalThis.self = globalThis
globalThis.postMessage = message => parentPort.postMessage(message)
globalThis.addEventListener = (type, listener) => parentPort.on(type, data => listener({ data }))
await import(workerData)
`

/**
 * Gives jsdom workers until the test ends: threads of Node that run the module that the page names.
 * @returns How many were started, and how many of them have ended.
 */
export function giveWorkers(): { started: number; ended: number } {
  const count = { started: 0, ended: 0 }
  const before = globalThis.Worker
  const open = new Set<NodeWorker>()
  globalThis.Worker = class {
    onmessage: ((event: { data: unknown }) => void) | null = null
    onerror: ((event: unknown) => void) | null = null
    readonly #thread: NodeWorker

    constructor(address: URL) {
      count.started += 1
      this.#thread = new NodeWorker(new URL(`data:text/javascript,${encodeURIComponent(AROUND)}`), {
        workerData: pathToFileURL(resolve(ROOT, `.${address.pathname}`)).href,
      })
      open.add(this.#thread)
      this.#thread.on('message', data => this.onmessage?.({ data }))
      this.#thread.on('error', error => this.onerror?.(error))
      this.#thread.on('exit', () => {
        count.ended += 1
      })
    }

    postMessage(message: unknown): void {
      this.#thread.postMessage(message)
    }

    terminate(): void {
      void this.#thread.terminate()
    }
  } as unknown as typeof Worker
  onTestFinished(async () => {
    globalThis.Worker = before
    await Promise.all([...open].map(thread => thread.terminate()))
  })
  return count
}
