import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { digestOf, type LayoutImage } from '../../../platform/image-layout/layout.ts'
import { readLayout } from '../../../platform/image-layout/read-layout.ts'
import { TAR_END, tarHeader, tarPadding } from '../../../platform/tar/tar-writer.ts'
import { gathered } from '../conformance/archives.ts'
import { saveImage } from './save-image.ts'

interface Entry {
  name: string
  bytes?: Buffer
  target?: string
}

function archiveOf(entries: Entry[]): Buffer {
  const parts = entries.flatMap(({ name, bytes = Buffer.alloc(0), target }) => [
    tarHeader({
      name,
      mode: 0o644,
      ...(target ? { type: 'symlink', target } : { type: 'file', size: bytes.length }),
    }),
    bytes,
    tarPadding(bytes.length),
  ])
  return Buffer.concat([...parts, TAR_END])
}

const json = (value: unknown) => Buffer.from(JSON.stringify(value))
const layers = [Buffer.from('{ a layer that begins like JSON'), Buffer.from('the second')]
const [first, second] = layers as [Buffer, Buffer]
const origin = { entrypoint: ['/init'], command: ['serve'], env: ['PATH=/bin'], size_bytes: 1 }
const config = json({
  architecture: 'amd64',
  os: 'linux',
  created: '2026-01-01T00:00:00Z',
  container: 'machine-7',
  config: {
    Hostname: 'machine-7',
    User: 'app',
    Env: ['SECRET=hidden'],
    Cmd: ['/init', 'hidden'],
    Entrypoint: ['/bin/sh', '-c', 'main'],
    Labels: { 'berth.origin': JSON.stringify(origin), 'berth.cloud': 'c', 'berth.instance': '', kept: 'yes' },
  },
  history: [{ created_by: 'hidden' }],
  rootfs: { type: 'layers', diff_ids: [digestOf(first), digestOf(second), digestOf(first)] },
})

async function read(archive: AsyncIterable<Uint8Array>) {
  let image: LayoutImage | null = null
  const blobs = new Map<string, Buffer>()
  for await (const part of readLayout(archive)) {
    if ('image' in part) image = part.image
    else blobs.set(part.blob.digest, await gathered(part.bytes))
  }
  if (!image) throw new Error('there is no image')
  return { image, blobs }
}

const save = (archive: Buffer) =>
  read(saveImage(async () => Readable.from([archive.subarray(0, 700), archive.subarray(700)])))

/** As Docker 20.10 has it: what names the layers comes last, and a layer that is there twice is a link. */
const older = archiveOf([
  { name: 'bbb/VERSION', bytes: Buffer.from('1.0') },
  { name: 'bbb/json', bytes: json({ id: 'bbb' }) },
  { name: 'bbb/layer.tar', bytes: second },
  { name: 'ccc/layer.tar', target: '../ddd/layer.tar' },
  { name: 'ddd/layer.tar', bytes: first },
  { name: 'eee.json', bytes: config },
  {
    name: 'manifest.json',
    bytes: json([
      { Config: 'eee.json', RepoTags: null, Layers: ['ddd/layer.tar', 'bbb/layer.tar', 'ccc/layer.tar'] },
    ]),
  },
])

const blob = (bytes: Buffer) => `blobs/${digestOf(bytes).replace(':', '/')}`

/** As Docker 25 and later have it: an OCI layout beside it, in which layers may be packed. */
const newer = (pack: (layer: Buffer) => Buffer) => {
  const packed = [pack(first), pack(second)] as [Buffer, Buffer]
  const names = [blob(packed[0]), blob(packed[1]), blob(packed[0])]
  return archiveOf([
    ...[...packed, config].map(bytes => ({ name: blob(bytes), bytes })),
    { name: 'index.json', bytes: json({ schemaVersion: 2, manifests: [] }) },
    { name: 'manifest.json', bytes: json([{ Config: blob(config), RepoTags: null, Layers: names }]) },
    { name: 'oci-layout', bytes: json({ imageLayoutVersion: '1.0.0' }) },
  ])
}

test.each([
  ['an older engine', older],
  ['a newer engine', newer(layer => layer)],
])(
  '[R4.6] what %s packs is an OCI image with its layers by what they are, without what the machine was given',
  async (_name, archive) => {
    const { image, blobs } = await save(archive)
    expect(image.manifest.layers.map(({ digest }) => digest)).toEqual([first, second, first].map(digestOf))
    expect(blobs.get(digestOf(first))).toEqual(first)
    expect(blobs.get(digestOf(second))).toEqual(second)
    const said = JSON.parse(String(blobs.get(image.manifest.config.digest)))
    expect(said).toEqual({
      architecture: 'amd64',
      os: 'linux',
      created: '2026-01-01T00:00:00Z',
      config: {
        User: 'app',
        Entrypoint: ['/init'],
        Cmd: ['serve'],
        Env: ['PATH=/bin'],
        Labels: { kept: 'yes' },
      },
      rootfs: { type: 'layers', diff_ids: [first, second, first].map(digestOf) },
    })
  },
)

test('layers that an engine keeps packed stay so', async () => {
  const { image, blobs } = await save(newer(layer => gzipSync(layer)))
  const [one] = image.manifest.layers
  expect(one).toMatchObject({
    mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip',
    digest: digestOf(gzipSync(first)),
  })
  expect(blobs.get(one?.digest ?? '')).toEqual(gzipSync(first))
})

test.each<[string, Buffer, string]>([
  ['has no list of its parts', archiveOf([{ name: 'eee.json', bytes: config }]), 'failed'],
  [
    'names a layer that is not in it',
    archiveOf([
      { name: 'eee.json', bytes: config },
      { name: 'manifest.json', bytes: json([{ Config: 'eee.json', Layers: ['a', 'b', 'c'] }]) },
    ]),
    'failed',
  ],
])('what an engine sends that %s is refused', async (_name, archive, code) => {
  await expect(save(archive)).rejects.toMatchObject({ code })
})

test('an engine that breaks off, or sends another image the second time, gives none that anybody takes', async () => {
  await expect(save(older.subarray(0, -2_000))).rejects.toThrow('breaks off')
  const answers = [older, archiveOf([])]
  const other = saveImage(async () => Readable.from([answers.shift()]))
  await expect(read(other)).rejects.toMatchObject({ fault: 'damaged' })
})
