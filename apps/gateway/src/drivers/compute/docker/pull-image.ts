import type Docker from 'dockerode'
import { ComputeError, type ComputeErrorCode } from '../port/compute-error.ts'
import { registryOf } from '../port/image-reference.ts'
import type { PullProgress } from '../port/images.ts'
import type { RegistryLogin } from '../port/registry-access.ts'
import type { DiskRoom } from '../sandbox/disk-room.ts'
import { orNull, toComputeError, translated } from './docker-errors.ts'
import type { DockerImage } from './docker-recipe.ts'

/** One line of the engine's answer to a pull. */
interface PullLine {
  id?: string
  status?: string
  error?: string
  progressDetail?: { current?: number; total?: number }
}

/** A layer is unpacked at a GB a second at most, and a pull that is ended goes on for a moment. */
const ROOM_LOOK_MS = 250
/** Of a pull of which the engine says nothing for so long, nothing comes: it waits for a registry as long as that likes. */
const SILENT_MS_MAX = 5 * 60_000
/** What images leave of the disk besides what is kept, as a share of that. */
const MARGIN = 0.5

/** What the engine says when it gets no answer, or no sound one, from where images come from. */
const UNREACHABLE = [
  /dial tcp|proxyconnect|no such host|server misbehaving|temporary failure in name resolution/i,
  /connection (refused|reset)|network is unreachable|no route to host|i\/o timeout|\bEOF$/i,
  /TLS handshake|x509:|tls: |server gave HTTP response to HTTPS client/i,
  /Client\.Timeout exceeded|context deadline exceeded|request canceled while waiting/i,
  /unexpected (HTTP )?status\b.*\b5\d\d\b/i,
]

/** What else it says, the first that fits; registries speak through it. */
const SAYINGS: readonly (readonly [RegExp, ComputeErrorCode | 'denied'])[] = [
  [/toomanyrequests|too many requests|\b429\b/i, 'registry_busy'],
  [/verification failed|wrong diff ?id|don't match image configuration|invalid checksum/i, 'image_damaged'],
  [/gzip: invalid|zstd: invalid|archive\/tar:|corrupt input|unexpected commit digest/i, 'image_damaged'],
  [/no matching manifest|cannot be used on this platform|unsupported manifest|mediaType/i, 'image_unfit'],
  [/denied|unauthorized|authentication required|no basic auth|incorrect username|\b40[13]\b/i, 'denied'],
  [
    /manifest unknown|name unknown|not found|does not exist|not known to registry|HTTP 404/i,
    'image_not_found',
  ],
  [/invalid reference/i, 'image_unavailable'],
]

/**
 * Pulls an image that is not here yet, or that is not for everybody only because it is here, and reports the bytes of
 * all its layers together.
 * @param image.login What the engine shows to the registry; null for none.
 * @param image.room The room on the engine's disk; null where it cannot be seen.
 * @param image.silentMsMax As `SILENT_MS_MAX`, which it is where left out.
 * @throws ComputeError `no_room` where it takes more of the disk than images may: a small layer may hold any number of bytes;
 *   `registry_slow` where nothing comes.
 */
export async function pullImage(
  docker: Docker,
  image: DockerImage & {
    login: RegistryLogin | null
    room: (() => Promise<DiskRoom>) | null
    silentMsMax?: number | undefined
  },
  onProgress: (progress: PullProgress) => void,
  signal: AbortSignal,
): Promise<void> {
  const { reference, login, silentMsMax = SILENT_MS_MAX } = image
  const doing = `pulling ${reference}`
  const failure = (error: unknown) => pullFailure(error, { reference, hasLogin: login !== null })
  const isHere = () =>
    translated(doing, async () => (await orNull(docker.getImage(reference).inspect())) !== null)
  // Asked to pull what is here, the engine asks the registry as whoever wants it, and fetches nothing.
  if (!image.is_asked_for && (await isHere())) return
  if (image.is_own) throw new ComputeError('image_unavailable', `${reference} is not on this engine any more`)
  const authconfig = login && { ...login, serveraddress: registryOf(reference) }
  const watch = watchRoom(image.room)
  const silence = watchSilence(silentMsMax)
  const either = AbortSignal.any([signal, watch.signal, silence.signal])
  try {
    const stream = await docker.pull(withTag(reference), {
      abortSignal: either,
      ...(authconfig && { authconfig }),
    })
    await follow(docker, stream, either, progress => {
      silence.broken()
      if (!progress) return
      watch.begin()
      onProgress(progress)
    })
  } catch (error) {
    if (watch.signal.aborted) throw new ComputeError('no_room', `${doing}: the engine’s disk is nearly full`)
    if (silence.signal.aborted && !signal.aborted)
      throw new ComputeError('registry_slow', `${doing}: nothing came for ${silentMsMax / 1_000} seconds`)
    if (signal.aborted) {
      throw new ComputeError('failed', `${doing}: the call was given up`, { cause: signal.reason })
    }
    throw failure(error)
  } finally {
    watch.end()
    silence.end()
  }
  // An answer that ends early is no error of its own.
  if (!(await isHere())) throw new ComputeError('failed', `${doing}: the engine ended it early`)
}

/**
 * Looks at the room on the engine's disk while an image comes. It ends the pull well before machines would be stopped to make
 * room, since none of them has taken it.
 */
function watchRoom(room: (() => Promise<DiskRoom>) | null) {
  const short = new AbortController()
  let timer: NodeJS.Timeout | null = null
  const look = () =>
    void room?.().then(
      ({ freeBytes, kept }) => freeBytes < kept.bytes * MARGIN && short.abort(),
      () => undefined,
    )
  return {
    signal: short.signal,
    /** Layers come: an image that is here takes nothing. */
    begin() {
      timer ??= setInterval(look, ROOM_LOOK_MS)
    },
    end: () => void (timer && clearInterval(timer)),
  }
}

/** Ends what nothing is said of for too long. */
function watchSilence(ms: number) {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), ms)
  return { signal: late.signal, broken: () => void timer.refresh(), end: () => clearTimeout(timer) }
}

/**
 * Waits for the end of the engine's answer.
 * @param onLine Called for each line, with the sums where they may have changed.
 */
async function follow(
  docker: Docker,
  stream: NodeJS.ReadableStream,
  signal: AbortSignal,
  onLine: (progress: PullProgress | null) => void,
): Promise<void> {
  const layers = createLayerSum()
  let said: Error | null = null
  await new Promise<void>((resolve, reject) => {
    const abort = () => {
      ;(stream as unknown as { destroy(): void }).destroy()
      reject(signal.reason)
    }
    signal.addEventListener('abort', abort, { once: true })
    const done = (error: unknown) => {
      signal.removeEventListener('abort', abort)
      if (error || said) reject(error ?? said)
      else resolve()
    }
    docker.modem.followProgress(
      stream,
      error => done(error),
      (line: PullLine) => {
        // What goes wrong once the answer has begun is a line of it like any other, and not an error of the stream.
        if (line.error !== undefined) said = new Error(line.error)
        onLine(layers.take(line))
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

/**
 * Turns what a pull ended with into the port's error.
 * @param of.hasLogin Whether the registry was shown a login.
 */
export function pullFailure(error: unknown, of: { reference: string; hasLogin: boolean }): ComputeError {
  const translated = toComputeError(error, `pulling ${of.reference}`)
  const { code, message } = translated
  if (code === 'engine_unavailable' || code === 'exhausted' || code === 'no_room') return translated
  // What an image is called may be one of the words that are looked for.
  const [name = ''] = withTag(of.reference).split(/@|:[^/]*$/)
  const named = new RegExp(`(^|[^\\w.-])${name.replace(/[^\w/-]/g, '\\$&')}($|[^\\w-])`)
  const said = message
    .split(/\s+/)
    .filter(word => !named.test(word))
    .join(' ')
  const is = (found: ComputeErrorCode) => new ComputeError(found, message, { cause: error })
  if (code === 'failed' && UNREACHABLE.some(pattern => pattern.test(said))) return is('registry_unreachable')
  const [, found] = SAYINGS.find(([pattern]) => pattern.test(said)) ?? []
  if (found === 'denied') return is(of.hasLogin ? 'image_login_refused' : 'image_needs_login')
  if (found) return is(found)
  return code === 'not_found' ? is('image_not_found') : translated
}
