import { resolve } from 'node:path'
import { Worker as NodeWorker } from 'node:worker_threads'
import { build } from 'vite'
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

const bundles = new Map<string, Promise<string>>()

/** A module and all that it imports as one address: what is found one by one takes four times as long to load. */
async function bundle(file: string): Promise<string> {
  const made = await build({
    configFile: false,
    logLevel: 'silent',
    // As a build for customers resolves it: Vitest has said that this is development.
    ssr: { noExternal: true, resolve: { conditions: ['module', 'node'] } },
    build: { ssr: file, write: false, rolldownOptions: { output: { codeSplitting: false } } },
  })
  const [result] = [made].flat()
  const [chunk] = result && 'output' in result ? result.output : []
  if (chunk?.type !== 'chunk') throw new Error(`${file} could not be bundled.`)
  return `data:text/javascript,${encodeURIComponent(chunk.code)}`
}

/**
 * Gives jsdom workers until the test ends: threads of Node that run the module that the page names.
 * @param file That module, from the sources' folder.
 * @returns How many were started, and how many of them have ended.
 */
export async function giveWorkers(file: string): Promise<{ started: number; ended: number }> {
  const path = resolve(import.meta.dirname, file)
  const bundled = bundles.get(path) ?? bundle(path)
  bundles.set(path, bundled)
  const workerData = await bundled
  const count = { started: 0, ended: 0 }
  const before = globalThis.Worker
  const open = new Set<NodeWorker>()
  globalThis.Worker = class {
    onmessage: ((event: { data: unknown }) => void) | null = null
    onerror: ((event: unknown) => void) | null = null
    readonly #thread: NodeWorker

    constructor(address: URL) {
      if (resolve(ROOT, `.${address.pathname}`) !== path)
        throw new Error(`No worker was given of ${address.pathname}.`)
      count.started += 1
      this.#thread = new NodeWorker(new URL(`data:text/javascript,${encodeURIComponent(AROUND)}`), {
        workerData,
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
