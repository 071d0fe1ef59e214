import type Docker from 'dockerode'
import { ComputeError } from '../port/compute-error.ts'
import type { PullProgress } from '../port/images.ts'
import { isMissing, toComputeError } from './docker-errors.ts'
import type { DockerImage } from './docker-recipe.ts'

/** One line of the engine's answer to a pull. */
interface PullLine {
  id?: string
  status?: string
  error?: string
  progressDetail?: { current?: number; total?: number }
}

/** What registries and the engine say when trying again would not help. */
const FINAL =
  /not found|manifest unknown|denied|unauthorized|does not exist|invalid reference|no matching manifest/i

/** What the engine says when it gets no answer, or no sound one, from where images come from. */
const UNREACHABLE = [
  /dial tcp|proxyconnect|no such host|server misbehaving|temporary failure in name resolution/i,
  /connection (refused|reset)|network is unreachable|no route to host|i\/o timeout|\bEOF$/i,
  /TLS handshake|x509:|tls: |server gave HTTP response to HTTPS client/i,
  /Client\.Timeout exceeded|context deadline exceeded|request canceled while waiting/i,
  /unexpected (HTTP )?status\b.*\b5\d\d\b/i,
]

/** Pulls an image that is not here yet and reports the bytes of all its layers together. */
export async function pullImage(
  docker: Docker,
  { reference, is_own }: DockerImage,
  onProgress: (progress: PullProgress) => void,
  signal: AbortSignal,
): Promise<void> {
  const doing = `pulling ${reference}`
  try {
    await docker.getImage(reference).inspect()
    return
  } catch (error) {
    if (!isMissing(error)) throw toComputeError(error, doing)
  }
  if (is_own) throw new ComputeError('image_unavailable', `${reference} is not on this engine any more`)
  let stream: NodeJS.ReadableStream
  try {
    stream = await docker.pull(withTag(reference), { abortSignal: signal })
  } catch (error) {
    throw pullFailure(error, doing)
  }
  const layers = createLayerSum()
  await new Promise<void>((resolve, reject) => {
    const abort = () => {
      ;(stream as unknown as { destroy(): void }).destroy()
      reject(new ComputeError('failed', `${doing}: the call was given up`, { cause: signal.reason }))
    }
    signal.addEventListener('abort', abort, { once: true })
    const done = (error: unknown) => {
      signal.removeEventListener('abort', abort)
      if (error) reject(pullFailure(error, doing))
      else resolve()
    }
    docker.modem.followProgress(
      stream,
      error => done(error),
      (line: PullLine) => {
        const progress = layers.take(line)
        if (progress) onProgress(progress)
      },
    )
  })
}

/**
 * Adds up what the engine tells of each layer. The total grows while layers announce themselves, so it is
 * null until every layer that was named has told its size or is done.
 */
export function createLayerSum() {
  const layers = new Map<string, { done: number; total: number | null }>()
  return {
    /** Takes one line; returns the sums when they may have changed. */
    take(line: PullLine): PullProgress | null {
      const { id, status = '' } = line
      if (!id) return null
      const layer = layers.get(id) ?? { done: 0, total: null }
      if (/^(Pulling fs layer|Waiting)/.test(status)) layers.set(id, layer)
      else if (status === 'Downloading') {
        layer.done = line.progressDetail?.current ?? layer.done
        layer.total = line.progressDetail?.total ?? layer.total
        layers.set(id, layer)
      } else if (/^(Download complete|Verifying|Extracting|Pull complete|Already exists)/.test(status)) {
        layer.total ??= layer.done
        layer.done = layer.total
        layers.set(id, layer)
      } else return null
      let bytes_done = 0
      let bytes_total: number | null = 0
      for (const { done, total } of layers.values()) {
        bytes_done += done
        bytes_total = bytes_total === null || total === null ? null : bytes_total + total
      }
      return { bytes_done, bytes_total }
    },
  }
}

/** Without a tag the engine would pull every tag that there is. */
function withTag(reference: string): string {
  const name = reference.slice(reference.lastIndexOf('/') + 1)
  return name.includes(':') || name.includes('@') ? reference : `${reference}:latest`
}

/** Turns what a pull ended with into the port's error. `doing` completes "failed while …". */
export function pullFailure(error: unknown, doing: string): ComputeError {
  const translated = toComputeError(error, doing)
  if (translated.code === 'engine_unavailable') return translated
  if (translated.code === 'failed' && UNREACHABLE.some(pattern => pattern.test(translated.message))) {
    return new ComputeError('registry_unreachable', translated.message, { cause: error })
  }
  const final = translated.code === 'not_found' || FINAL.test(translated.message)
  return final ? new ComputeError('image_unavailable', translated.message, { cause: error }) : translated
}
