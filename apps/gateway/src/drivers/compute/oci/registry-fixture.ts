import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createPort } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { eventually } from '../conformance/tools.ts'

/** An image as a registry has it. */
export interface MadeImage {
  manifest: Buffer
  /** By digest: the layers and what the image says of itself. */
  blobs: Map<string, Buffer>
  layers: string[]
}

const ARCHITECTURE = process.arch === 'x64' ? 'amd64' : process.arch
const IMAGE_TYPE = 'application/vnd.oci.image.manifest.v1+json'

export function digestOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}

/** A layer that is packed already; `holds` is what the image says is in it, where that is not true. */
interface MadeLayer {
  bytes: Buffer
  packing: '' | '+gzip' | '+zstd'
  holds?: Buffer
}

/** Makes an image of layers. */
export function makeImage(layers: MadeLayer[], said: Record<string, unknown> = {}): MadeImage {
  const config = Buffer.from(
    JSON.stringify({
      os: 'linux',
      architecture: ARCHITECTURE,
      config: said,
      rootfs: { type: 'layers', diff_ids: layers.map(diffIdOf) },
    }),
  )
  const described = (bytes: Buffer, mediaType: string) => ({
    mediaType,
    digest: digestOf(bytes),
    size: bytes.length,
  })
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: IMAGE_TYPE,
      config: described(config, 'application/vnd.oci.image.config.v1+json'),
      layers: layers.map(({ bytes, packing }) =>
        described(bytes, `application/vnd.oci.image.layer.v1.tar${packing}`),
      ),
    }),
  )
  const blobs = [config, ...layers.map(({ bytes }) => bytes)]
  return {
    manifest,
    blobs: new Map(blobs.map(bytes => [digestOf(bytes), bytes])),
    layers: layers.map(({ bytes }) => digestOf(bytes)),
  }
}

function diffIdOf({ bytes, packing, holds }: MadeLayer): string {
  if (holds) return digestOf(holds)
  return digestOf(
    packing === '' ? bytes : packing === '+gzip' ? gunzipSync(bytes) : zstdDecompressSync(bytes),
  )
}

/** The list of an image for this kind of computer, beside ones for others. */
export function makeIndex(image: MadeImage, architecture = ARCHITECTURE): Buffer {
  const other = { digest: digestOf(Buffer.from('other')), platform: { os: 'windows', architecture } }
  const ours = { digest: digestOf(image.manifest), platform: { os: 'linux', architecture } }
  return Buffer.from(JSON.stringify({ schemaVersion: 2, manifests: [other, ours] }))
}

type Answer = (request: IncomingMessage, response: ServerResponse) => boolean

/** A registry of our own, which has `t/image:1` and does otherwise as a test likes. */
export async function startRegistry(image: MadeImage) {
  const asked: { url: string; range: string | undefined; authorization: string | undefined }[] = []
  let answer: Answer = () => false
  const server = createServer((request, response) => {
    const { url = '' } = request
    asked.push({ url, range: request.headers.range, authorization: request.headers.authorization })
    if (answer(request, response)) return
    const wanted = url.split('/').at(-1) ?? ''
    if (url.includes('/manifests/') && (wanted === '1' || wanted === digestOf(image.manifest))) {
      response.setHeader('content-type', IMAGE_TYPE)
      response.end(image.manifest)
      return
    }
    const blob = image.blobs.get(wanted)
    if (!blob) {
      response.writeHead(404).end('{}')
      return
    }
    const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0)
    const range = { 'content-range': `bytes ${from}-${blob.length - 1}/${blob.length}` }
    response.writeHead(from > 0 ? 206 : 200, from > 0 ? range : {})
    response.end(blob.subarray(from))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const host = `127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
  return {
    host,
    reference: `${host}/t/image:1`,
    asked,
    /** @param next Answers what it likes and says whether it did. */
    does(next: Answer) {
      answer = next
      asked.length = 0
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** One entry of an archive that no program would write. */
export interface OddEntry {
  name: string
  type?: string
  target?: string
  content?: string | Buffer
  mode?: number
  /** What it says of its size, where that is not true. */
  size?: number
}

/** Packs entries without looking at them. */
export function packOdd(entries: OddEntry[]): Buffer {
  const blocks = entries.flatMap(({ name, type = '0', target = '', content = '', mode = 0o644, size }) => {
    const body = Buffer.from(content)
    const header = Buffer.alloc(512)
    header.write(name, 0, 100)
    header.write(`${mode.toString(8).padStart(7, '0')}\0`, 100)
    header.write(`${(size ?? body.length).toString(8).padStart(11, '0')}\0`, 124)
    header.write('00000000000\0', 136)
    header.write('        ', 148)
    header.write(type, 156)
    header.write(target, 157, 100)
    header.write('ustar\x0000', 257)
    const sum = header.reduce((total, byte) => total + byte, 0)
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
    return [header, body, Buffer.alloc((512 - (body.length % 512)) % 512)]
  })
  return Buffer.concat([...blocks, Buffer.alloc(1024)])
}

/** Debian's registry, with one image put into it; it ends with `close`. */
export async function startRealRegistry(image: MadeImage) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-registry-'))
  const port = await freePort()
  const host = `127.0.0.1:${port}`
  const settings = `version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: ${folder}/data\nhttp:\n  addr: ${host}\n`
  writeFileSync(join(folder, 'config.yml'), settings)
  const child = spawn('docker-registry', ['serve', join(folder, 'config.yml')], { stdio: 'ignore' })
  const base = `http://${host}/v2/t/${randomBytes(4).toString('hex')}`
  await eventually(async () => void (await fetch(`http://${host}/v2/`)))
  for (const [digest, blob] of image.blobs) {
    const begun = await fetch(`${base}/blobs/uploads/`, { method: 'POST' })
    const location = new URL(begun.headers.get('location') ?? '', base)
    location.searchParams.set('digest', digest)
    await fetch(location, {
      method: 'PUT',
      body: new Uint8Array(blob),
      headers: { 'content-type': 'application/octet-stream' },
    })
  }
  const put = await fetch(`${base}/manifests/1`, {
    method: 'PUT',
    body: new Uint8Array(image.manifest),
    headers: { 'content-type': IMAGE_TYPE },
  })
  if (!put.ok) throw new Error(`the registry refuses the image: ${await put.text()}`)
  return {
    reference: `${base.slice('http://'.length).replace('/v2/', '/')}:1`,
    async close() {
      child.kill('SIGKILL')
      await once(child, 'exit')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function freePort(): Promise<number> {
  const server = createPort().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  return typeof address === 'object' && address ? address.port : 0
}
