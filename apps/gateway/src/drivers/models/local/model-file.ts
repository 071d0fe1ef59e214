import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Logger } from 'pino'
import { inGb, Unfit } from './unfit.ts'

/** Larger is no small model. */
const FILE_BYTES_MAX = 64_000_000_000
/** What stays free of the disk for everything else. */
const DISK_KEPT_BYTES = 1_000_000_000
/** What sends nothing for so long is asked again, from where it stopped. */
const SILENT_MS = 60_000
const TOLD_EVERY_MS = 5_000
const PARTIAL_CONTENT = 206
const RANGE_NOT_SATISFIABLE = 416
const GONE: readonly number[] = [400, 401, 403, 404, 410]

/** Where a model's file is had from. */
export interface ModelSource {
  /** A path of this computer, or an address. */
  place: string
  isAddress: boolean
  /** As hexadecimal digits; null where nobody has said it, of a path alone. */
  sha256: string | null
}

interface FileDeps {
  log: Pick<Logger, 'info' | 'warn'>
  signal: AbortSignal
  /** Where what is downloaded is kept. */
  folder: string
}

/**
 * Makes sure of a model's file. What is downloaded goes on where it was cut, also after a restart, and is kept by its checksum;
 * other files in that folder are removed.
 * @returns Its path.
 * @throws Unfit where it is another file than was meant, or there is no room for it; Error where the network fails.
 */
export async function modelFile(source: ModelSource, deps: FileDeps): Promise<string> {
  const { place, isAddress, sha256 } = source
  if (!isAddress) {
    const found = await stat(place).catch(() => null)
    if (!found?.isFile()) throw new Unfit(`${place} is no file`)
    if (sha256 !== null && (await sha256Of(place, deps.signal)) !== sha256) {
      throw new Unfit(`${place} has another checksum than BERTH_LOCAL_MODEL says`)
    }
    return place
  }
  const name = `${sha256}.gguf`
  const [whole, part] = [join(deps.folder, name), join(deps.folder, `${name}.part`)]
  await mkdir(deps.folder, { recursive: true, mode: 0o700 })
  if (await bytesOf(whole)) return whole
  await download(place, part, deps)
  if ((await sha256Of(part, deps.signal)) !== sha256) {
    await rm(part, { force: true })
    throw new Unfit(
      `${place} has another checksum than BERTH_LOCAL_MODEL says; what was downloaded is removed`,
    )
  }
  await rename(part, whole)
  for (const other of await readdir(deps.folder)) {
    if (other !== name) await rm(join(deps.folder, other), { force: true, recursive: true })
  }
  return whole
}

async function download(address: string, part: string, { log, signal, folder }: FileDeps): Promise<void> {
  const had = await bytesOf(part)
  const silence = new AbortController()
  let timer = setTimeout(() => silence.abort(new Error('nothing came any more')), SILENT_MS)
  const hush = () => {
    clearTimeout(timer)
    timer = setTimeout(() => silence.abort(new Error('nothing came any more')), SILENT_MS)
  }
  try {
    const response = await fetch(address, {
      headers: had > 0 ? { range: `bytes=${had}-` } : {},
      signal: AbortSignal.any([signal, silence.signal]),
    })
    // Nothing is left of it.
    if (response.status === RANGE_NOT_SATISFIABLE && had > 0) return
    if (GONE.includes(response.status)) throw new Unfit(`${address} answers ${response.status}`)
    if (!response.ok || !response.body) throw new Error(`${address} answers ${response.status}`)
    const goesOn = response.status === PARTIAL_CONTENT
    const before = goesOn ? had : 0
    const length = Number(response.headers.get('content-length') ?? Number.NaN)
    const all = before + length
    await requireRoom(all, length, folder)
    let bytes = before
    const tell = () =>
      log.info(
        Number.isNaN(all) ? { of: null } : { percent: Math.floor((bytes / all) * 100), of: inGb(all) },
        `the local model is being downloaded: ${inGb(bytes)}`,
      )
    tell()
    const telling = setInterval(tell, TOLD_EVERY_MS)
    const file = await open(part, goesOn ? 'a' : 'w', 0o600)
    try {
      // Each piece is in the file before the next one is read, so that what came before a cut is there after it.
      for await (const piece of response.body) {
        hush()
        bytes += piece.length
        if (bytes > FILE_BYTES_MAX) throw tooLarge(bytes)
        await file.write(piece)
      }
    } finally {
      clearInterval(telling)
      await file.close()
    }
    tell()
  } finally {
    clearTimeout(timer)
  }
}

function tooLarge(bytes: number): Unfit {
  return new Unfit(`the local model has ${inGb(bytes)}, and ${inGb(FILE_BYTES_MAX)} is the most`)
}

async function requireRoom(all: number, more: number, folder: string): Promise<void> {
  if (Number.isNaN(all)) return
  if (all > FILE_BYTES_MAX) throw tooLarge(all)
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize - DISK_KEPT_BYTES
  if (free < more) {
    throw new Unfit(
      `this computer is too small for the local model: its disk has ${inGb(Math.max(0, free))} to give, and ${inGb(more)} are wanted`,
    )
  }
}

async function bytesOf(path: string): Promise<number> {
  return await stat(path).then(
    ({ size }) => size,
    () => 0,
  )
}

async function sha256Of(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path, { highWaterMark: 1_048_576 }), hash, { signal })
  return hash.digest('hex')
}
