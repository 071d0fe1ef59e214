import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { ArchiveCut, NotAnArchive } from '../../../platform/tar/tar-reader.ts'
import { imageFiles } from '../oci/image-files.ts'
import { NotForImages } from '../oci/layer-entries.ts'
import { OciFailure } from '../oci/oci-failure.ts'
import { pullImage } from '../oci/pull-image.ts'
import { readBaseFiles } from './base-files.ts'
import { openProcess, type PodPlace, type PodProcess } from './kube-exec.ts'
import { createKubeLink, type KubeLink } from './kube-link.ts'
import { writeMachineLayer } from './machine-layer.ts'
import { MADE_FILE, type PackMachineOrders } from './pack-machine-orders.ts'

/** Twice what the largest images have; a list of so many fits into the memory of this process. */
const FILES_MAX = 1_000_000
/** What is sent and not kept, such as headers and what others have mounted; and names of all files. */
const PASSED_OVER_BYTES_MAX = 2 ** 30
const LIST_BYTES_MAX = 2 ** 30
const ERROR_CHARS_MAX = 300
/** A program that walks a million files and finds none that changed says nothing meanwhile, and takes less than this. */
const SILENT_MS_MAX = 300_000
/** Whatever it says: the machine is its customer's, and this process is not. */
const TOTAL_MS_MAX = 7_200_000
/** What was written, removed or changed while it was read ends what packs with this, and is no failure. */
const CHANGED_EXIT_CODE = 1

const ARCHIVE = [
  ...['tar', '--create', '--file=-', '--format=posix', '--pax-option=delete=atime,delete=ctime'],
  ...['--numeric-owner', '--sort=name', '--one-file-system', '--ignore-failed-read'],
  ...['--xattrs', '--xattrs-include=*', '--warning=none', '--directory=/'],
]

/**
 * Fetches a machine's image, and makes the layer of what the machine has over it. Both lie in the orders' folder then.
 * @throws OciFailure, NotForImages; Error where the machine cannot be read.
 */
export async function packMachine(
  { base, folder, machine, cluster }: PackMachineOrders,
  onProgress: (progress: { bytes_done: number; bytes_total: number }) => void,
): Promise<void> {
  let fetched = 0
  const { terms, room, reference } = base
  const record = await pullImage(folder, reference, {
    terms,
    room,
    onProgress: ({ bytes_done }) => {
      fetched = bytes_done
      onProgress({ bytes_done, bytes_total: Number.MAX_SAFE_INTEGER })
    },
  })
  let layer = null
  if (machine !== null) {
    const files = imageFiles(folder)
    const layers = record.layers.map(({ digest, packing }) => ({ path: files.blob(digest), packing }))
    const link = await createKubeLink(cluster)
    const home = `.${machine.home}`
    const out = join(folder, 'layer')
    const bytes_max = Math.min(machine.bytes_max, Math.max(0, room.freeBytes - bytesOf(record.layers)))
    const read = (command: string[], bytesMax: number) => outputOf(link, machine, command, bytesMax)
    const archived = bytes_max + PASSED_OVER_BYTES_MAX
    layer = await writeMachineLayer(
      {
        ...machine,
        base: await readBaseFiles(layers, FILES_MAX),
        ...{ out, files_max: FILES_MAX, kept_bytes: room.kept.bytes },
        bytes_max,
      },
      {
        list: () => read(inRoot(['find', '.', home, '-xdev', '-printf', '%C@ %y %p\\0']), LIST_BYTES_MAX),
        changed: () => read(inRoot([...ARCHIVE, `--newer=@${machine.since_s}`, '--', '.']), archived),
        home: () => read(inRoot([...ARCHIVE, '--', home]), archived),
      },
      done => onProgress({ bytes_done: fetched + done, bytes_total: Number.MAX_SAFE_INTEGER }),
    ).catch(refusedArchive)
    link.close()
  }
  await writeFile(join(folder, MADE_FILE), JSON.stringify({ record, layer }))
}

/** Whoever sends what is no archive does so again. */
function refusedArchive(error: unknown): never {
  if (!(error instanceof NotAnArchive || error instanceof ArchiveCut)) throw error
  throw new NotForImages(`the machine’s tar writes no archive: ${error.message}`)
}

const bytesOf = (layers: readonly { size: number }[]) => layers.reduce((sum, { size }) => sum + size, 0)

function inRoot(command: string[]): string[] {
  return ['/bin/sh', '-c', 'cd / && LC_ALL=C exec "$@"', 'berth', ...command]
}

/** What a program in a machine writes, no faster than it is read. Fails where it did not end well. */
async function* outputOf(
  link: KubeLink,
  place: PodPlace,
  command: string[],
  bytesMax: number,
): AsyncGenerator<Buffer> {
  let process: PodProcess | null = null
  let said = ''
  let bytes = 0
  const output = new Readable({ read: () => process?.resume() })
  const giveUp = () =>
    output.destroy(new NotForImages('what reads the machine’s files in it says nothing, or never ends'))
  const silence = setTimeout(giveUp, SILENT_MS_MAX)
  const end = setTimeout(giveUp, TOTAL_MS_MAX)
  process = await openProcess(
    link,
    place,
    { command, tty: false, stdin: false },
    {
      onStdout: chunk => {
        silence.refresh()
        bytes += chunk.length
        if (bytes > bytesMax) return void output.destroy(new OciFailure('too_large'))
        if (!output.push(chunk)) process?.pause()
      },
      onStderr: chunk => {
        said = `${said}${chunk}`.slice(-ERROR_CHARS_MAX)
      },
      onDrain: () => undefined,
      onEnd: ({ code, said: why }) => {
        if (code === 0 || code === CHANGED_EXIT_CODE) output.push(null)
        else if (code === null) output.destroy(new Error(`its files cannot be read: ${why}`))
        else
          output.destroy(new NotForImages(`the machine’s files cannot be read in it: ${said.trim() || why}`))
      },
    },
  )
  try {
    yield* output as AsyncIterable<Buffer>
  } catch (error) {
    if (error instanceof OciFailure || error instanceof NotForImages) throw error
    throw new Error(`its files cannot be read: ${(error as Error).message}`, { cause: error })
  } finally {
    clearTimeout(silence)
    clearTimeout(end)
    process.close()
  }
}
