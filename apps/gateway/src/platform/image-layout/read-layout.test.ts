import fc from 'fast-check'
import { expect, describe as group, test } from 'vitest'
import { TAR_END, type TarHeader, tarHeader, tarPadding } from '../tar/tar-writer.ts'
import {
  type Descriptor,
  describe,
  digestOf,
  LAYOUT_LIMITS,
  LAYOUT_MARK,
  type LayoutImage,
  MEDIA_TYPES,
  makeLayoutImage,
} from './layout.ts'
import { LayoutError } from './layout-error.ts'
import { packLayout } from './pack-layout.ts'
import { readLayout } from './read-layout.ts'

type Blobs = ReadonlyMap<string, Buffer>

const config = Buffer.from('{"os":"linux"}')

function imageOf(layers: Uint8Array[]): { image: LayoutImage; blobs: Blobs } {
  const image = makeLayoutImage({
    config: describe(config, MEDIA_TYPES.config),
    layers: layers.map(layer => describe(layer, MEDIA_TYPES.layer)),
  })
  return { image, blobs: new Map([config, ...layers].map(bytes => [digestOf(bytes), Buffer.from(bytes)])) }
}

async function pack({ image, blobs }: { image: LayoutImage; blobs: Blobs }): Promise<Buffer> {
  const found: Uint8Array[] = []
  const open = async function* ({ digest }: Descriptor) {
    yield blobs.get(digest) ?? Buffer.alloc(0)
  }
  for await (const piece of packLayout(image, open)) found.push(piece)
  return Buffer.concat(found)
}

async function* cut(archive: Buffer, pieceBytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < archive.length; at += pieceBytes) yield archive.subarray(at, at + pieceBytes)
}

async function read(archive: AsyncIterable<Uint8Array>, limits = LAYOUT_LIMITS) {
  let image: LayoutImage | null = null
  const blobs = new Map<string, Buffer>()
  for await (const part of readLayout(archive, limits)) {
    if ('image' in part) image = part.image
    else {
      const pieces: Buffer[] = []
      for await (const piece of part.bytes) pieces.push(piece)
      blobs.set(part.blob.digest, Buffer.concat(pieces))
    }
  }
  return { image, blobs }
}

const faultOf = (archive: AsyncIterable<Uint8Array>, limits = LAYOUT_LIMITS) =>
  read(archive, limits).then(
    () => null,
    (error: unknown) => (error instanceof LayoutError ? error.fault : error),
  )

/** An archive of files as they are given. */
function archiveOf(
  files: (Omit<TarHeader, 'mode' | 'type' | 'size'> & Partial<TarHeader> & { bytes?: Buffer })[],
) {
  const parts = files.flatMap(({ bytes = Buffer.alloc(0), ...header }) => [
    tarHeader({ type: 'file', mode: 0o644, size: bytes.length, ...header }),
    bytes,
    tarPadding(bytes.length),
  ])
  return Buffer.concat([...parts, TAR_END])
}

const blobName = (digest: string) => `blobs/${digest.replace(':', '/')}`

/** The files of a good archive, by which bad ones are made. */
function filesOf({ image, blobs }: { image: LayoutImage; blobs: Blobs }) {
  const index = Buffer.from(JSON.stringify({ schemaVersion: 2, manifests: [image.descriptor] }))
  return [
    { name: 'oci-layout', bytes: LAYOUT_MARK },
    { name: 'index.json', bytes: index },
    { name: blobName(image.descriptor.digest), bytes: image.bytes },
    ...[...blobs].map(([digest, bytes]) => ({ name: blobName(digest), bytes })),
  ]
}

const layers = fc.array(fc.uint8Array({ minLength: 1, maxLength: 3_000 }), { minLength: 1, maxLength: 5 })

test('what is packed is read again, however it is cut into pieces, and is the same each time', async () => {
  await fc.assert(
    fc.asyncProperty(layers, fc.integer({ min: 1, max: 5_000 }), async (bytes, pieceBytes) => {
      const made = imageOf(bytes)
      const archive = await pack(made)
      expect(await pack(imageOf(bytes))).toEqual(archive)
      expect(await read(cut(archive, pieceBytes))).toEqual(made)
    }),
    { numRuns: 60 },
  )
})

test('[R4.6] an archive that ends anywhere before its end is cut, and never an image', async () => {
  await fc.assert(
    fc.asyncProperty(
      layers,
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      async (bytes, share) => {
        const archive = await pack(imageOf(bytes))
        // The second block of its end says nothing more.
        const end = Math.floor((archive.length - 512) * share)
        expect(await faultOf(cut(archive.subarray(0, end), 700))).toBe('cut')
      },
    ),
    { numRuns: 100 },
  )
})

test('an archive with one other bit gives the very same image, or none', async () => {
  await fc.assert(
    fc.asyncProperty(layers, fc.nat(), fc.integer({ min: 0, max: 7 }), async (bytes, at, bit) => {
      const made = imageOf(bytes)
      const archive = await pack(made)
      const where = at % archive.length
      archive.writeUInt8(archive.readUInt8(where) ^ (1 << bit), where)
      const found = await read(cut(archive, 1_000)).catch((error: unknown) => error)
      if (found instanceof Error) expect(found).toBeInstanceOf(LayoutError)
      else expect(found).toEqual(made)
    }),
    { numRuns: 300 },
  )
})

test('whatever bytes come, they are refused in words, and nothing else happens', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ maxLength: 4_000 }),
      fc.integer({ min: 1, max: 2_000 }),
      async (bytes, size) => {
        expect(await read(cut(Buffer.from(bytes), size)).catch((error: unknown) => error)).toBeInstanceOf(
          LayoutError,
        )
      },
    ),
  )
})

group('what is no layout of one image', () => {
  const made = imageOf([Buffer.from('one'), Buffer.from('two')])
  const good = filesOf(made)
  const [mark, index, manifest] = good as [(typeof good)[0], (typeof good)[0], (typeof good)[0]]
  const withIndex = (value: unknown) =>
    archiveOf([mark, { name: 'index.json', bytes: Buffer.from(JSON.stringify(value)) }, ...good.slice(2)])
  const withManifest = (value: unknown) => {
    const bytes = Buffer.from(JSON.stringify(value))
    const descriptor = describe(bytes, MEDIA_TYPES.manifest)
    const first = { schemaVersion: 2, manifests: [descriptor] }
    return archiveOf([
      mark,
      { name: 'index.json', bytes: Buffer.from(JSON.stringify(first)) },
      { name: blobName(descriptor.digest), bytes },
      ...good.slice(3),
    ])
  }

  test('the good one is one, with and without its folders', async () => {
    expect(await faultOf(cut(archiveOf(good), 512))).toBeNull()
    const folders = ['./', './blobs/', './blobs/sha256/'].map(name => ({ name, type: 'folder' as const }))
    const dotted = good.map(file => ({ ...file, name: `./${file.name}` }))
    expect(await faultOf(cut(archiveOf([...folders, ...dotted]), 512))).toBeNull()
  })

  test.each<[string, Buffer]>([
    ['a way up', archiveOf([...good, { name: '../outside', bytes: Buffer.from('x') }])],
    [
      'a way up within a blob’s name',
      archiveOf([...good, { name: 'blobs/sha256/../../x', bytes: Buffer.from('x') }]),
    ],
    ['an absolute name', archiveOf([...good, { name: '/etc/passwd', bytes: Buffer.from('x') }])],
    ['a link outward', archiveOf([...good, { name: 'blobs/link', type: 'symlink', target: '/etc' }])],
    [
      'a hard link',
      archiveOf([...good, { name: blobName(digestOf(Buffer.from('x'))), type: 'hardlink', target: 'x' }]),
    ],
    ['a device', archiveOf([...good, { name: 'dev', type: 'block' }])],
    ['another folder', archiveOf([{ name: 'etc/', type: 'folder' }, ...good])],
    ['a blob twice', archiveOf([...good, ...good.slice(-1)])],
    ['two marks', archiveOf([mark, ...good])],
    ['two indexes', archiveOf([mark, index, ...good.slice(1)])],
    [
      'a blob that nobody names',
      archiveOf([...good, { name: blobName(digestOf(Buffer.from('x'))), bytes: Buffer.from('x') }]),
    ],
    ['blobs before their manifest', archiveOf([mark, index, ...good.slice(3), manifest])],
    ['a manifest before the index', archiveOf([mark, manifest, index, ...good.slice(3)])],
    ['no image', withIndex({ schemaVersion: 2, manifests: [] })],
    [
      'two images',
      withIndex({ schemaVersion: 2, manifests: [made.image.descriptor, made.image.descriptor] }),
    ],
    ['an index that is none', withIndex('index')],
    [
      'a digest that is a path',
      withIndex({ schemaVersion: 2, manifests: [{ ...made.image.descriptor, digest: '../../x' }] }),
    ],
    [
      'another digest than SHA-256',
      withIndex({
        schemaVersion: 2,
        manifests: [{ ...made.image.descriptor, digest: `sha512:${'0'.repeat(128)}` }],
      }),
    ],
    ['a manifest that is none', withManifest({ schemaVersion: 2 })],
    ['a manifest without layers', withManifest({ ...made.image.manifest, layers: [] })],
    [
      'one blob of two sizes',
      withManifest({
        ...made.image.manifest,
        layers: [...made.image.manifest.layers, { ...made.image.manifest.layers[0], size: 4 }],
      }),
    ],
  ])('%s is refused', async (_name, archive) => {
    expect(await faultOf(cut(archive, 512))).toBe('unfit')
  })

  test.each<[string, Buffer, string]>([
    [
      'a digest that lies',
      archiveOf([...good.slice(0, -1), { name: good.at(-1)?.name ?? '', bytes: Buffer.from('TWO') }]),
      'damaged',
    ],
    [
      'a size that lies',
      archiveOf([...good.slice(0, -1), { name: good.at(-1)?.name ?? '', bytes: Buffer.from('more') }]),
      'damaged',
    ],
    [
      'a manifest of another digest',
      archiveOf([mark, index, { name: manifest.name, bytes: Buffer.from('{}') }, ...good.slice(3)]),
      'damaged',
    ],
    ['a layer that is missing', archiveOf(good.slice(0, -1)), 'cut'],
    ['no end', archiveOf(good).subarray(0, -1024), 'cut'],
    ['nothing at all', Buffer.alloc(0), 'cut'],
    [
      'an index that is endless',
      archiveOf([mark, { name: 'index.json', bytes: Buffer.alloc(70_000, ' ') }]),
      'too_large',
    ],
  ])('%s is refused, too', async (_name, archive, fault) => {
    expect(await faultOf(cut(archive, 512))).toBe(fault)
  })

  test('more bytes or layers than may be are refused by what the manifest says, before one of them is read', async () => {
    const huge = { ...made.image.manifest.layers[0], size: LAYOUT_LIMITS.bytes_max + 1 }
    expect(await faultOf(cut(withManifest({ ...made.image.manifest, layers: [huge] }), 512))).toBe(
      'too_large',
    )
    const many = Array.from({ length: LAYOUT_LIMITS.layers_max + 1 }, () => made.image.manifest.layers[0])
    expect(await faultOf(cut(withManifest({ ...made.image.manifest, layers: many }), 512))).toBe('too_large')
    const limits = { ...LAYOUT_LIMITS, bytes_max: 100 }
    expect(await faultOf(cut(archiveOf(good), 512), limits)).toBe('too_large')
  })

  test.each<[string, Buffer, Buffer]>([
    ['zeros behind its end', archiveOf(good), Buffer.alloc(65_536)],
    [
      'folders',
      archiveOf(good).subarray(0, -1024),
      archiveOf([{ name: 'blobs/', type: 'folder' }]).subarray(0, 512),
    ],
    [
      'headers that say something about what follows',
      Buffer.alloc(0),
      tarHeader({ name: 'x'.repeat(900), type: 'file', mode: 0 }).subarray(0, -512),
    ],
  ])('an archive of endless %s is read for a while only', async (_name, front, again) => {
    let bytes = 0
    const endless = (async function* () {
      yield front
      for (;;) {
        bytes += again.length
        yield again
      }
    })()
    expect(await faultOf(endless)).toBe('unfit')
    expect(bytes).toBeLessThan(2 * 1024 * 1024)
  })

  test('whoever sends is told to end, and what he fails with is what is heard', async () => {
    let isClosed = false
    const source = (async function* () {
      try {
        yield archiveOf(good).subarray(0, 3_000)
        throw new Error('the line broke')
      } finally {
        isClosed = true
      }
    })()
    expect(await faultOf(source)).toEqual(new Error('the line broke'))
    expect(isClosed).toBe(true)
    isClosed = false
    const wrong = (async function* () {
      try {
        yield Buffer.alloc(512, 1)
        yield Buffer.alloc(512, 1)
      } finally {
        isClosed = true
      }
    })()
    expect(await faultOf(wrong)).toBe('unfit')
    expect(isClosed).toBe(true)
  })
})
