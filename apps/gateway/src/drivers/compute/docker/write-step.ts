import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import type Docker from 'dockerode'
import { TAR_END, tarHeader, tarPadding } from '../../../platform/tar/tar-writer.ts'
import { ComputeError } from '../port/compute-error.ts'
import { RecipeError } from '../port/dockerfile.ts'

interface BuildLine {
  error?: string
  aux?: { ID?: string }
}

export interface WrittenStep {
  /** The engine's own id of the image, or `scratch`. */
  from: string
  /** One instruction that runs nothing. */
  line: string
  /** Files for COPY, as a tar. */
  context?: () => AsyncIterable<Uint8Array>
}

/**
 * Has the engine's builder follow one instruction that runs nothing of a customer's.
 * @returns The engine's own id of what came of it.
 * @throws RecipeError with the builder's words; what dockerode throws.
 */
export async function writeStep(
  docker: Docker,
  { from, line, context }: WrittenStep,
  signal: AbortSignal,
): Promise<string> {
  const name = `.berth-${randomBytes(8).toString('hex')}`
  const body = Readable.from(archive(name, `FROM ${from}\n${line}\n`, context), { objectMode: false })
  const stop = new AbortController()
  let failure: { error: unknown } | null = null
  body.once('error', error => {
    failure ??= { error }
    stop.abort(error)
  })
  const giveUp = () =>
    body.destroy(new ComputeError('failed', 'the call was given up', { cause: signal.reason }))
  signal.addEventListener('abort', giveUp, { once: true })
  let id = ''
  let said: string | null = null
  try {
    // What another customer's build has left is nothing to go on from, and what may be fetched was fetched.
    const answer = await docker.buildImage(body, {
      dockerfile: name,
      nocache: true,
      rm: true,
      forcerm: true,
      networkmode: 'none',
      abortSignal: stop.signal,
    })
    await new Promise<void>((resolve, reject) => {
      stop.signal.addEventListener('abort', () => reject(stop.signal.reason), { once: true })
      docker.modem.followProgress(
        answer,
        error => (error ? reject(error) : resolve()),
        (told: BuildLine) => {
          if (told.error !== undefined) said = told.error
          if (told.aux?.ID) id = told.aux.ID
        },
      )
    })
  } catch (error) {
    if (failure) throw (failure as { error: unknown }).error
    throw said === null ? error : new RecipeError('step_failed', said)
  } finally {
    signal.removeEventListener('abort', giveUp)
    body.destroy()
  }
  if (said !== null) throw new RecipeError('step_failed', said)
  if (id === '') throw new ComputeError('failed', 'the engine ended a step early')
  return id
}

/**
 * The instruction, and the files: those first, so that none of them takes the instruction's place. What the engine is told
 * to leave out is what we have put there.
 */
async function* archive(
  name: string,
  dockerfile: string,
  context: WrittenStep['context'],
): AsyncGenerator<Uint8Array> {
  if (context) yield* context()
  yield* file(name, dockerfile)
  yield* file('.dockerignore', `.dockerignore\n${name}\n`)
  yield TAR_END
}

function* file(name: string, text: string): Generator<Uint8Array> {
  const bytes = Buffer.from(text)
  yield tarHeader({ name, type: 'file', mode: 0o644, size: bytes.length })
  yield bytes
  yield tarPadding(bytes.length)
}
