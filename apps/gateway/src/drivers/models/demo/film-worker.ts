import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { BufferTarget, EncodedPacket, EncodedVideoPacketSource, Output, WebMOutputFormat } from 'mediabunny'
import sharp from 'sharp'
import { FILM_FRAMES_PER_SECOND, type FilmTold, type FilmWork } from './demo-films.ts'
import { drawPicture } from './draw-picture.ts'

const QUALITY = 60
const CHANNELS = 3
/** Where the only part of a simple WebP begins, and how long that is. */
const CHUNK_AT = 12
const CHUNK_HEAD_BYTES = 8

const work = workerData as FilmWork

try {
  tell({ bytes: await film(work) })
} catch (error) {
  tell({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) })
}

/** A film of pictures that move, as WebM: each frame is one by itself, and the same for the same. */
async function film({ width, height, seconds, material, seed, frameMs }: FilmWork): Promise<Uint8Array> {
  const target = new BufferTarget()
  const output = new Output({ format: new WebMOutputFormat(), target })
  const track = new EncodedVideoPacketSource('vp8')
  output.addVideoTrack(track, { frameRate: FILM_FRAMES_PER_SECOND })
  await output.start()
  const frames = seconds * FILM_FRAMES_PER_SECOND
  for (let frame = 0; frame < frames; frame++) {
    const order = { prompt: material, seed, number: 0, width, height }
    const bytes = await keyFrame(drawPicture(order, frame / frames), width, height)
    const packet = new EncodedPacket(bytes, 'key', frame / FILM_FRAMES_PER_SECOND, 1 / FILM_FRAMES_PER_SECOND)
    await track.add(packet, { decoderConfig: { codec: 'vp8', codedWidth: width, codedHeight: height } })
    tell({ frame: frame + 1, frames })
    await sleep(frameMs)
  }
  await output.finalize()
  if (target.buffer === null) throw new Error('no film was written')
  return new Uint8Array(target.buffer)
}

/** A lossy WebP is a key frame of VP8 in a container of its own. */
async function keyFrame(data: Uint8Array, width: number, height: number): Promise<Uint8Array> {
  const webp = await sharp(data, { raw: { width, height, channels: CHANNELS } })
    .webp({ quality: QUALITY, effort: 0 })
    .toBuffer()
  if (webp.toString('latin1', CHUNK_AT, CHUNK_AT + 4) !== 'VP8 ') throw new Error('that is no simple WebP')
  const from = CHUNK_AT + CHUNK_HEAD_BYTES
  return webp.subarray(from, from + webp.readUInt32LE(CHUNK_AT + 4))
}

function tell(said: FilmTold): void {
  parentPort?.postMessage(said)
}
