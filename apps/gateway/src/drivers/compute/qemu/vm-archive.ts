import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import {
  type Descriptor,
  describe,
  type LayoutImage,
  type LayoutManifest,
  makeLayoutImage,
} from '../../../platform/image-layout/layout.ts'
import { LayoutError } from '../../../platform/image-layout/layout-error.ts'
import { packLayout } from '../../../platform/image-layout/pack-layout.ts'
import { readLayout } from '../../../platform/image-layout/read-layout.ts'
import { ARCHITECTURE } from '../oci/architecture.ts'
import { mustGoOn } from '../own-archive.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { DiskRoom } from '../sandbox/disk-room.ts'
import { sha256Of, type VmImage } from './base-store.ts'

const ARTIFACT = 'application/vnd.berth.vm'
/** What each file is to the machine; its disk comes first, the others where it is started by a kernel of its own. */
const TYPES = {
  config: 'application/vnd.berth.vm.config.v1+json',
  disk: 'application/vnd.berth.vm.disk.qcow2',
  kernel: 'application/vnd.berth.vm.kernel',
  initrd: 'application/vnd.berth.vm.initrd',
} as const
const ROLES = ['disk', 'kernel', 'initrd'] as const
type Role = (typeof ROLES)[number]

const CMDLINE_LENGTH_MAX = 4_096
/** How much is written between two looks at what the disk has left. */
const LOOK_BYTES = 16 * 1024 * 1024

const configSchema = z.object({
  architecture: z.string(),
  cmdline: z.string().max(CMDLINE_LENGTH_MAX).nullable(),
})

/**
 * An image of a machine as an artifact in an OCI image layout. Its files are read twice, since their digests stand at the
 * front.
 * @param pathOf Where a file of the store is.
 */
export async function* saveVm(vm: VmImage, pathOf: (name: string) => string): AsyncGenerator<Uint8Array> {
  const names = { disk: vm.base.name, kernel: vm.kernel, initrd: vm.initrd }
  const paths = new Map<string, string>()
  const layers: Descriptor[] = []
  for (const role of ROLES) {
    const name = names[role]
    if (name === null) continue
    const path = pathOf(name)
    const digest = `sha256:${await sha256Of(path)}`
    layers.push({ mediaType: TYPES[role], digest, size: (await stat(path)).size })
    paths.set(digest, path)
  }
  const config = Buffer.from(JSON.stringify({ architecture: ARCHITECTURE, cmdline: vm.cmdline }))
  const image = makeLayoutImage({ artifactType: ARTIFACT, config: describe(config, TYPES.config), layers })
  yield* packLayout(image, ({ digest }) => {
    const path = paths.get(digest)
    return path === undefined ? whole(config) : (createReadStream(path) as AsyncIterable<Buffer>)
  })
}

/** A file that was taken from an archive, and what its SHA-256 is. */
interface TakenFile {
  path: string
  hex: string
}

/**
 * Takes the files of an image into a folder. What they hold is not looked at here.
 * @throws LayoutError where it is no image of a virtual machine that runs here; ComputeError `no_room`.
 */
export async function loadVm(
  archive: AsyncIterable<Uint8Array>,
  options: { folder: string; room(): Promise<DiskRoom>; signal: AbortSignal },
): Promise<{ disk: string; kernel: TakenFile | null; initrd: TakenFile | null; cmdline: string | null }> {
  const { folder, signal } = options
  const taken = new Map<Role, TakenFile>()
  let roles = new Map<string, Role>()
  let said: z.infer<typeof configSchema> | null = null
  for await (const part of readLayout(archive)) {
    mustGoOn(signal)
    if ('image' in part) {
      roles = rolesOf(part.image)
      const bytes = part.image.manifest.layers.reduce((sum, { size }) => sum + size, 0)
      if (bytes > (await options.room()).freeBytes) noRoom()
      continue
    }
    const role = roles.get(part.blob.digest)
    if (role === undefined) {
      said = await readVmConfig(part.bytes)
      continue
    }
    const path = join(folder, role)
    await write(path, part.bytes, options)
    taken.set(role, { path, hex: part.blob.digest.slice('sha256:'.length) })
  }
  const disk = taken.get('disk')
  if (!disk || !said) throw new LayoutError('unfit', 'it has no disk')
  return {
    disk: disk.path,
    kernel: taken.get('kernel') ?? null,
    initrd: taken.get('initrd') ?? null,
    cmdline: said.cmdline,
  }
}

function rolesOf({ manifest }: LayoutImage): Map<string, Role> {
  const { artifactType, config, layers }: LayoutManifest = manifest
  const roles = layers.map(({ mediaType }) => ROLES.find(role => TYPES[role] === mediaType))
  const isOne = artifactType === ARTIFACT && config.mediaType === TYPES.config && roles[0] === 'disk'
  const isEachOnce = new Set(layers.map(({ digest }) => digest)).size === roles.length
  if (!isOne || new Set(roles).size !== roles.length || !isEachOnce || roles.includes(undefined))
    throw new LayoutError('unfit', 'it is no image of a virtual machine')
  return new Map(layers.map(({ digest }, at) => [digest, roles[at] as Role]))
}

async function readVmConfig(bytes: AsyncIterable<Buffer>): Promise<z.infer<typeof configSchema>> {
  const pieces: Buffer[] = []
  for await (const piece of bytes) pieces.push(piece)
  const said = configSchema.safeParse(parse(Buffer.concat(pieces))).data
  if (!said || said.architecture !== ARCHITECTURE)
    throw new LayoutError('unfit', 'it is for another kind of processor, or does not say for which')
  return said
}

function parse(text: Buffer): unknown {
  try {
    return JSON.parse(text.toString('utf8'))
  } catch {
    return null
  }
}

async function write(
  path: string,
  bytes: AsyncIterable<Buffer>,
  { room, signal }: { room(): Promise<DiskRoom>; signal: AbortSignal },
): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  let sinceLook = 0
  try {
    for await (const piece of bytes) {
      mustGoOn(signal)
      await file.writeFile(piece)
      sinceLook += piece.length
      if (sinceLook < LOOK_BYTES) continue
      sinceLook = 0
      if ((await room()).isShort) noRoom()
    }
  } catch (error) {
    if (['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '')) noRoom(error)
    throw error
  } finally {
    await file.close()
  }
}

function noRoom(cause?: unknown): never {
  throw new ComputeError('no_room', 'the disk of images has no room for it', { cause })
}

async function* whole(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}
