import { createReadStream } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { V1Pod } from '@kubernetes/client-node'
import { z } from 'zod'
import { describe, MEDIA_TYPES, makeLayoutImage } from '../../../platform/image-layout/layout.ts'
import { LayoutError } from '../../../platform/image-layout/layout-error.ts'
import { packLayout } from '../../../platform/image-layout/pack-layout.ts'
import { createKeyedQueue } from '../keyed-queue.ts'
import { MACHINE_ID_PATTERN } from '../machine-id.ts'
import { fetchOutside } from '../oci/fetch-outside.ts'
import { imageFiles } from '../oci/image-files.ts'
import { IMAGE_BYTES_MAX, imageRecordSchema } from '../oci/image-record.ts'
import { packedLayerSchema } from '../oci/pack-orders.ts'
import { parseJson } from '../oci/registry-client.ts'
import { mustGoOn, refusedArchive } from '../own-archive.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { ImageRecipe, OwnImages, PullProgress } from '../port/images.ts'
import type { RegistryTerms } from '../port/registry-access.ts'
import { comingImage } from './coming-image.ts'
import { runExec } from './kube-exec.ts'
import { type KubeLink, type KubePlace, translated } from './kube-link.ts'
import { IMAGE_LABEL } from './kube-names.ts'
import type { FoundDisk, KubeObjects } from './kube-objects.ts'
import { notesOf } from './machine-orders.ts'
import type { NodeRegistry } from './node-registry.ts'
import type { OwnImageNote, OwnImageNotes } from './own-image-notes.ts'
import { MADE_FILE, type PackMachineOrders } from './pack-machine-orders.ts'
import type { ImageFacts, MachineOrders } from './pod-plan.ts'
import { runsSince } from './pod-status.ts'

const PACK_SCRIPT = join(import.meta.dirname, 'pack-machine-process.ts')
const BYTES_PER_GB = 1024 ** 3
/** What the gateway's own disk is to have left. */
const KEPT_BYTES = 2 * BYTES_PER_GB
/** So many are made at once at the most, as whoever has them made sees to. */
const AT_ONCE_MAX = 4
/** Its node's clock may have been set a little meanwhile; what is read once too often does no harm. */
const CLOCK_SLACK_S = 1
const MOUNTS_TIMEOUT_MS = 10_000
/** Ends well where a machine can be read by its own programs, with {@link NOT_ROOT_EXIT_CODE} where it is not root who would read. */
export const HAS_TOOLS = [
  'while read -r name uid _; do [ "$name" != Uid: ] || break; done </proc/self/status; [ "$uid" = 0 ] || exit 2',
  'for p in tar find; do $p --version 2>/dev/null | grep -q GNU || exit 1; done',
].join('; ')

const STOPPED =
  'Of a machine that does not run only its home is there, and nothing of what it changed elsewhere: start it to have an image made of it.'
const NODES_OWN =
  'Its machine runs an image that nodes have of their own, which no registry gives to make another one of.'
const NO_TOOLS =
  'What a machine has changed is read by GNU tar and find in it, and it has none: install them, or choose an image with them.'

export const NOT_ROOT_EXIT_CODE = 2
const NOT_ROOT =
  'Its image runs programs as another user than root, who may not read all that the machine has: what is not read would be missing.'

const madeSchema = z.object({ record: imageRecordSchema, layer: packedLayerSchema.nullable() })

export interface KubeOwnDeps {
  link: KubeLink
  place: KubePlace
  objects: KubeObjects
  notes: OwnImageNotes
  registry: NodeRegistry
  /** By which one engine's folders are known among those of others on this computer. */
  key: string
  /** What is known of images by what they say of themselves. */
  wordsOf(image: { user: string; env: Record<string, string>; working_dir: string }): {
    home: string
    is_user: boolean
  }
  /** What the registry of a machine's image is asked with. */
  termsOf(namespace: string, image: ImageFacts): Promise<RegistryTerms>
  machines: {
    find(id: string): Promise<FoundDisk>
    orders(disk: FoundDisk): Promise<MachineOrders | null>
    running(id: string): Promise<{ namespace: string; pod: string; found: V1Pod }>
  }
  /** Has a node fetch an image that is at the registry. */
  fetch(note: OwnImageNote, id: string, signal: AbortSignal): Promise<void>
}

/**
 * Images that are made of machines: their images' own layers, and one of what a machine has over those, read by programs of the
 * machine's own while it runs, without any right over its node. They lie at the registry that nodes pull from, each in a
 * repository of its own, so that what goes with one is no other's.
 */
export function createKubeOwnImages(deps: KubeOwnDeps): OwnImages {
  const { link, objects, notes, registry, machines } = deps
  const queue = createKeyedQueue()
  const recipeOf = (id: string): ImageRecipe => ({ id, parts: { kubernetes: { own: id } } })
  const repositoryOf = (id: string) => registry.open(`${registry.repository}/${id}`)
  const prefix = `berth-images-${deps.key}-`
  void removeLeft(prefix)

  /** Sends an image to the registry, and writes it down; what fails leaves nothing. */
  async function keep(id: string, archive: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    const begun = {
      ...{ digest: null, size_bytes: 0, is_whole: false },
      ...{ entrypoint: [], command: [], home: '', is_user: false },
    }
    try {
      await notes.write(id, begun)
      const coming = comingImage(archive)
      const { digest, size_bytes } = await repositoryOf(id)
        .put(coming.bytes, signal, digest => notes.write(id, { ...begun, digest }))
        .catch(refusedByRegistry)
      mustGoOn(signal)
      const { entrypoint, command, ...said } = coming.said()
      const note = { digest, size_bytes, is_whole: true, entrypoint, command, ...deps.wordsOf(said) }
      await notes.write(id, note)
    } catch (error) {
      // What cannot be removed now is listed, and removed by whoever looks for images that nobody needs.
      await forget(id).catch(() => undefined)
      throw error
    }
  }

  async function forget(id: string): Promise<void> {
    const note = await notes.read(id)
    if (!note) return
    if (note.digest !== null) await repositoryOf(id).remove(note.digest).catch(refusedByRegistry)
    await notes.remove(id)
  }

  /** What is to be read of a machine; null of one that never ran, whose image is all that there is of it. */
  async function machineOf(id: string, disk: FoundDisk, { image, spec }: MachineOrders) {
    const { hasRun, isLaid } = notesOf(disk.claim)
    const pod = await machines.running(id).catch(error => {
      if (!(error instanceof ComputeError) || error.code !== 'not_running') throw error
      return null
    })
    if (!pod) {
      if (hasRun || isLaid) throw new ComputeError('not_running', STOPPED)
      return null
    }
    const { exit_code } = await runExec(link, pod, ['/bin/sh', '-c', HAS_TOOLS])
    if (exit_code === NOT_ROOT_EXIT_CODE) throw new ComputeError('unsupported', NOT_ROOT)
    if (exit_code !== 0) throw new ComputeError('no_tar', NO_TOOLS)
    const since = runsSince(pod.found)
    if (!since) throw new ComputeError('not_running', STOPPED)
    const { stdout } = await runExec(link, pod, ['cat', '/proc/self/mountinfo'], {
      timeout_ms: MOUNTS_TIMEOUT_MS,
    })
    return {
      namespace: pod.namespace,
      pod: pod.pod,
      since_s: Math.floor(since.getTime() / 1_000) - CLOCK_SLACK_S,
      home: image.home,
      mounts: mountsIn(stdout).filter(path => path !== '/'),
      // Its disk, and as much of its node's as it may write: what is larger is not there but only said to be.
      bytes_max: Math.min(IMAGE_BYTES_MAX, 2 * spec.disk_gb * BYTES_PER_GB),
    }
  }

  async function make(
    id: string,
    disk: FoundDisk,
    orders: MachineOrders,
    onProgress: (progress: PullProgress) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { image } = orders
    const machine = await machineOf(orders.spec.id, disk, orders)
    const folder = await mkdtemp(join(tmpdir(), `${prefix}${process.pid}-`))
    try {
      const { bavail, bsize } = await statfs(folder)
      const share =
        registry.scratch_gb === null ? Infinity : (registry.scratch_gb * BYTES_PER_GB) / AT_ONCE_MAX
      const asked: PackMachineOrders = {
        cluster: deps.place,
        folder,
        machine,
        base: {
          reference: image.reference,
          terms: { ...(await deps.termsOf(disk.namespace, image)) },
          room: {
            freeBytes: Math.max(0, Math.min(share, bavail * bsize - KEPT_BYTES)),
            kept: { bytes: KEPT_BYTES },
          },
        },
      }
      const job = { name: `the image ${id}`, script: [PACK_SCRIPT] as const, orders: asked }
      await fetchOutside(
        { ...job, lock: join(folder, 'lock') },
        ({ bytes_done }) => onProgress({ bytes_done, bytes_total: null }),
        signal,
      )
      const made = madeSchema.parse(parseJson(await readFile(join(folder, MADE_FILE))))
      await keep(id, await archiveOf(folder, made), signal)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  return {
    build: ({ machine_id, image_id }, onProgress, signal) =>
      translated(`making the image ${image_id} of ${machine_id}`, async () => {
        mustBeId(image_id)
        mustGoOn(signal)
        const disk = await machines.find(machine_id)
        onProgress({ bytes_done: 0, bytes_total: null })
        await queue(image_id, async () => {
          if ((await notes.read(image_id))?.is_whole) return
          const orders = await machines.orders(disk)
          if (!orders) throw new ComputeError('failed', `what ${machine_id} is was never written down`)
          if (!orders.image.is_pulled) throw new ComputeError('unsupported', NODES_OWN)
          await make(image_id, disk, orders, onProgress, signal)
        })
        return recipeOf(image_id)
      }),

    async *save(id, signal) {
      mustBeId(id)
      mustGoOn(signal)
      const note = await translated(`saving the image ${id}`, () => notes.read(id))
      if (!note?.is_whole || note.digest === null) throw new ComputeError('not_found', `no image ${id}`)
      try {
        for await (const piece of repositoryOf(id).get(note.digest, signal)) {
          mustGoOn(signal)
          yield piece
        }
      } catch (error) {
        refusedByRegistry(error)
      }
    },

    load: (id, archive, signal) =>
      translated(`loading the image ${id}`, async () => {
        mustBeId(id)
        mustGoOn(signal)
        const note = await queue(id, async () => {
          if (!(await notes.read(id))?.is_whole) await keep(id, archive, signal)
          return await notes.read(id)
        }).catch(refusedArchive(id))
        if (note) await deps.fetch(note, id, signal)
        return recipeOf(id)
      }),

    delete: id =>
      translated(`removing the image ${id}`, async () => {
        mustBeId(id)
        const [used] = await objects.listDisks(`${IMAGE_LABEL}=${id}`)
        if (used) throw new ComputeError('failed', `a machine is made from the image ${id}`)
        await queue(id, () => forget(id))
      }),

    list: () => translated('listing images', notes.list),
  }
}

/** The archive of what was made in a folder: it says of itself what the machine's image said, and nothing of the machine. */
async function archiveOf(folder: string, { record, layer }: z.infer<typeof madeSchema>) {
  const files = imageFiles(folder)
  const said = z.looseObject({}).parse(parseJson(await readFile(files.blob(record.config))))
  const layers = record.layers.map(({ digest, size, packing }) => ({
    ...{ digest, size },
    mediaType: packing === 'plain' ? MEDIA_TYPES.layer : `${MEDIA_TYPES.layer}+${packing}`,
  }))
  const diff_ids = record.layers.map(({ diff_id }) => diff_id)
  if (layer) {
    layers.push({ ...layer, mediaType: MEDIA_TYPES.layer })
    diff_ids.push(layer.digest)
  }
  const { history: _, ...words } = said
  const config = Buffer.from(JSON.stringify({ ...words, rootfs: { type: 'layers', diff_ids } }))
  const made = makeLayoutImage({ config: describe(config, MEDIA_TYPES.config), layers })
  return packLayout(made, ({ digest }) => {
    if (digest === made.manifest.config.digest) return whole(config)
    return createReadStream(digest === layer?.digest ? join(folder, 'layer') : files.blob(digest))
  })
}

/** Where something is mounted, as the kernel tells it. */
function mountsIn(text: string): string[] {
  return text.split('\n').flatMap(line => {
    const path = line.split(' ')[4]
    return path === undefined
      ? []
      : [path.replace(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)))]
  })
}

/** What a registry's own failures are to whoever made or brought an image; all else goes on as it is. */
function refusedByRegistry(error: unknown): never {
  const { name, code, message, cause } = error as Error & { code?: string }
  if (name !== 'LayoutStoreError') throw error
  // It looked at the archive, too.
  if (cause instanceof LayoutError) throw cause
  const said = code === 'full' ? 'no_room' : code === 'not_found' ? 'image_unavailable' : 'failed'
  throw new ComputeError(said, `the registry of images: ${message}`, { cause: error })
}

/** Removes what gateways of this computer left when they were killed while they made images. */
async function removeLeft(prefix: string): Promise<void> {
  for (const name of await readdir(tmpdir()).catch(() => [])) {
    if (!name.startsWith(prefix)) continue
    const pid = Number(/^\d+/.exec(name.slice(prefix.length))?.[0])
    if (pid !== process.pid && isAlive(pid)) continue
    await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => undefined)
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function mustBeId(id: string): void {
  if (!MACHINE_ID_PATTERN.test(id)) throw new ComputeError('unsupported', `not an image id: ${id}`)
}

async function* whole(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}
