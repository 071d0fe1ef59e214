import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { freePort } from '../../../../../../scripts/test/free-port.ts'
import { eventually } from '../conformance/tools.ts'

/** An image as a registry has it. */
export interface MadeImage {
  manifest: Buffer
  /** By digest: the layers and what the image says of itself. */
  blobs: Map<string, Buffer>
  layers: string[]
}

const ARCHITECTURE = process.arch === 'x64' ? 'amd64' : process.arch
/** One that no registry here has. */
const OTHER = { manifest: Buffer.from('other') }
const INDEX_TYPE = 'application/vnd.oci.image.index.v1+json'
const IMAGE_TYPE = 'application/vnd.oci.image.manifest.v1+json'

export function digestOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}

function described(bytes: Buffer, mediaType: string) {
  return { mediaType, digest: digestOf(bytes), size: bytes.length }
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

/** The list of an image for this kind of computer, behind one for another. */
export function makeIndex(
  image: MadeImage,
  architecture = ARCHITECTURE,
  other: Pick<MadeImage, 'manifest'> = OTHER,
): Buffer {
  const manifests = [
    { ...described(other.manifest, IMAGE_TYPE), platform: { os: 'windows', architecture } },
    { ...described(image.manifest, IMAGE_TYPE), platform: { os: 'linux', architecture } },
  ]
  return Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: INDEX_TYPE, manifests }))
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
      response.writeHead(404).end('{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}')
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
  uid?: number
  gid?: number
  /** What it says of its size, where that is not true. */
  size?: number
}

/** Packs entries without looking at them. */
export function packOdd(entries: OddEntry[]): Buffer {
  const blocks = entries.flatMap(entry => {
    const { name, type = '0', target = '', content = '', mode = 0o644, uid = 0, gid = 0, size } = entry
    const body = Buffer.from(content)
    const header = Buffer.alloc(512)
    header.write(name, 0, 100)
    header.write(`${mode.toString(8).padStart(7, '0')}\0`, 100)
    for (const [id, at] of [
      [uid, 108],
      [gid, 116],
    ] as const)
      header.write(`${id.toString(8).padStart(7, '0')}\0`, at)
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

/** Whether a program is on this computer. */
export const isInstalled = (program: string) =>
  (process.env.PATH ?? '').split(delimiter).some(folder => existsSync(join(folder, program)))

/** Whether Debian's registry is on this computer. */
export const hasRealRegistry = isInstalled('docker-registry')

/** What a registry asks for: TLS by the certificate in two files, and a login of its file. */
export interface Locks {
  certificate: string
  key: string
  htpasswd: string
}

/**
 * Debian's registry, with one image in it by the tag 1, and by the tag `many` as one of several kinds of computers; it
 * ends with `close`.
 */
export async function startRealRegistry(image: MadeImage) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-registry-'))
  const port = await freePort()
  const host = `127.0.0.1:${port}`
  let child = serve(folder, host, null)
  const name = `t/${randomBytes(4).toString('hex')}`
  const base = `http://${host}/v2/${name}`
  await eventually(async () => void (await fetch(`http://${host}/v2/`)))
  const put = async (url: URL | string, body: Buffer, type: string) => {
    const answer = await fetch(url, {
      method: 'PUT',
      body: new Uint8Array(body),
      headers: { 'content-type': type },
    })
    if (!answer.ok) throw new Error(`the registry refuses the image: ${await answer.text()}`)
  }
  const other = makeImage([], { User: 'of another computer' })
  for (const [digest, blob] of [...image.blobs, ...other.blobs]) {
    const begun = await fetch(`${base}/blobs/uploads/`, { method: 'POST' })
    const location = new URL(begun.headers.get('location') ?? '', base)
    location.searchParams.set('digest', digest)
    await put(location, blob, 'application/octet-stream')
  }
  await put(`${base}/manifests/1`, image.manifest, IMAGE_TYPE)
  await put(`${base}/manifests/other`, other.manifest, IMAGE_TYPE)
  await put(`${base}/manifests/many`, makeIndex(image, ARCHITECTURE, other), INDEX_TYPE)
  const end = async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  return {
    host,
    /** The image's name there, with the host and without a tag. */
    name: `${host}/${name}`,
    reference: `${host}/${name}:1`,
    /** Lets nobody in any more but by TLS and with a login. */
    async lock(locks: Locks) {
      await end()
      child = serve(folder, host, locks)
      await eventually(async () => {
        const socket = connect(port, '127.0.0.1')
        await once(socket, 'connect').finally(() => socket.destroy())
      })
    },
    async close() {
      await end()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function serve(folder: string, host: string, locks: Locks | null) {
  const tls = locks && { tls: { certificate: locks.certificate, key: locks.key } }
  // JSON is YAML.
  const settings = {
    version: 0.1,
    storage: { filesystem: { rootdirectory: `${folder}/data` }, delete: { enabled: true } },
    http: { addr: host, ...tls },
    ...(locks && { auth: { htpasswd: { realm: 'here', path: locks.htpasswd } } }),
  }
  writeFileSync(join(folder, 'config.yml'), JSON.stringify(settings))
  return spawn('docker-registry', ['serve', join(folder, 'config.yml')], { stdio: 'ignore' })
}
