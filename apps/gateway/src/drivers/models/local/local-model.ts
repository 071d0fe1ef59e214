import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Ids } from '../../../platform/ids.ts'
import { startProcessBeside } from '../../../platform/process-beside.ts'
import { createOpenAiServer } from '../openai/openai-server.ts'
import { type ModelServer, ModelServerFailed } from '../port.ts'
import { engineModule } from './engine-folder.ts'
import { type ModelSource, modelFile } from './model-file.ts'
import type { FromLocalModel, LocalModelOrders } from './process/words.ts'
import { inGb, Unfit } from './unfit.ts'

const SCRIPT = join(import.meta.dirname, 'process/local-model-process.ts')
/** Of its JavaScript; the model is beside that. */
const FLAGS = ['--max-old-space-size=256']
/** What a model takes beside its file: what it remembers of chats, and what it reckons in. */
const MORE_BYTES = 400_000_000
/** Pauses before it is tried again, the last one again and again. */
const AGAIN_MS = [1_000, 5_000, 15_000, 60_000]
/** What has run for so long is well again. */
const WELL_MS = 300_000
const LOAD_MS = 300_000
const STOP_MS = 3_000
const SECRET_BYTES = 32

export interface LocalModelOptions {
  source: ModelSource
  /** Folder that has `node-llama-cpp`; null: it is put into the data folder. */
  engine: string | null
  /** Where what is downloaded is kept. */
  folder: string
  /** The context of a chat at the most. */
  contextTokens: number
  ids: Pick<Ids, 'secret'>
  log: Logger
  /** Bytes of memory that a process may have here. */
  availableBytes?: () => number
  /** Pauses between tries. */
  againMs?: readonly number[]
}

/**
 * A small model in a process of its own beside the gateway, through `node-llama-cpp`: a real answer with nothing else
 * installed. Its file and its engine are downloaded in the background, with progress in the log; until it runs, and while it
 * starts anew, it gives no answer.
 */
export function createLocalModel(options: LocalModelOptions) {
  const { log, folder } = options
  const againMs = options.againMs ?? AGAIN_MS
  const availableBytes = options.availableBytes ?? (() => process.availableMemory())
  const ending = new AbortController()
  let child: ChildProcess | null = null
  let server: ModelServer | null = null
  let state = 'it is not started yet'
  let running: Promise<void> | null = null

  async function prepare(): Promise<Omit<LocalModelOrders, 'secret'>> {
    const { signal } = ending
    state = 'its file is being fetched'
    const file = await modelFile(options.source, { log, signal, folder: join(folder, 'file') })
    await requireMemory(file, availableBytes())
    state = 'its engine is being installed'
    const engine = await engineModule({ given: options.engine, folder: join(folder, 'engine'), log, signal })
    // One is left for the gateway, and for its database.
    const threads = Math.max(1, availableParallelism() - 1)
    return { engine, file, threads, contextTokens: options.contextTokens }
  }

  /** Runs the process once. @returns When it has ended. @throws Unfit where it can never run here. */
  async function runOnce(orders: Omit<LocalModelOrders, 'secret'>): Promise<void> {
    const secret = options.ids.secret(SECRET_BYTES)
    state = 'it is being loaded'
    const own = startProcessBeside(SCRIPT, FLAGS)
    child = own
    let unfit: string | null = null
    const exit = once(own, 'exit')
    const late = setTimeout(() => own.kill('SIGKILL'), LOAD_MS)
    own.on('message', (said: FromLocalModel) => {
      if (said.says === 'error') return log.error(said.text)
      if (said.says === 'unfit') {
        unfit = said.why
        return
      }
      clearTimeout(late)
      const url = `http://127.0.0.1:${said.port}/v1`
      server = createOpenAiServer({ url, key: secret, model: NAME })
      log.info({ contextTokens: said.contextTokens, threads: orders.threads }, 'the local model answers')
    })
    own.send({ ...orders, secret } satisfies LocalModelOrders, () => undefined)
    const [code, signal] = (await exit) as [number | null, string | null]
    clearTimeout(late)
    server = null
    child = null
    if (unfit !== null) throw new Unfit(`this computer is too small for the local model: ${unfit}`)
    if (!ending.signal.aborted) log.error({ code, signal }, 'the process of the local model ended by itself')
  }

  async function run(): Promise<void> {
    for (let failures = 0; !ending.signal.aborted; failures++) {
      const startedMs = performance.now()
      try {
        await runOnce(await prepare())
      } catch (error) {
        if (ending.signal.aborted) return
        if (error instanceof Unfit) {
          state = error.message
          log.error(`The local model does not run: ${error.message}.`)
          return
        }
        log.error({ err: error }, 'the local model could not be started')
      }
      state = 'it has ended, and is started again'
      if (performance.now() - startedMs > WELL_MS) failures = 0
      const pauseMs = againMs[Math.min(failures, againMs.length - 1)]
      await sleep(pauseMs, undefined, { signal: ending.signal, ref: false }).catch(() => undefined)
    }
  }

  function answering(): ModelServer {
    if (server) return server
    throw new ModelServerFailed(NAME, new Error(state))
  }

  return {
    /** Answers for it, as any other server does; it refuses to make films. */
    server: {
      name: NAME,
      ask: async request => await answering().ask(request),
      films: {
        begin: async (...asked) => await answering().films.begin(...asked),
        look: async (...asked) => await answering().films.look(...asked),
        fetch: async (...asked) => await answering().films.fetch(...asked),
        remove: async (...asked) => await answering().films.remove(...asked),
      },
    } satisfies ModelServer,
    /** Its process, for tests; null while there is none. */
    pid: () => child?.pid ?? null,
    /** What keeps it from answering; null while it answers. */
    why: () => (server ? null : state),
    /** Begins to fetch what is missing, and runs it. */
    start(): void {
      running ??= run()
    },
    /** Ends it, with whatever is under way. */
    async stop(): Promise<void> {
      ending.abort(new Error('the gateway ends'))
      const own = child
      if (own?.connected) own.disconnect()
      const killing = setTimeout(() => own?.kill('SIGKILL'), STOP_MS)
      await running
      clearTimeout(killing)
    },
  }
}
export type LocalModel = ReturnType<typeof createLocalModel>

const NAME = 'local model'

/** @throws Unfit where the model is larger than what is free. */
async function requireMemory(file: string, availableBytes: number): Promise<void> {
  const wanted = (await stat(file)).size + MORE_BYTES
  if (wanted <= availableBytes) return
  throw new Unfit(
    `this computer is too small for the local model: it wants about ${inGb(wanted)} of memory, and ${inGb(availableBytes)} are free`,
  )
}
