import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import type Docker from 'dockerode'
import { createKeyedQueue } from '../keyed-queue.ts'
import { MACHINE_ID_PATTERN } from '../machine-id.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { VolumeStore } from '../port/volumes.ts'
import { CLOUD_LABEL, createNames } from './container-plan.ts'
import { copyDockerVolume, type DockerCopyDeps } from './copy-docker-volume.ts'
import { orNull, statusCodeOf, translated } from './docker-errors.ts'
import type { VolumeHelper } from './volume-helper.ts'

const STATUS_CONFLICT = 409
/** Names the volume on the engine's own, and on what says that it is not whole. */
const VOLUME_LABEL = 'berth.volume'

/** What takes longer to count than this is not counted. */
const COUNT_TIMEOUT_MS = 20_000
const KB = 1024

const NOT_HELD = {
  enforced: false,
  why: 'Docker limits the size of volumes only on few file systems, so it is not asked to',
} as const

const NOT_HERE = 'its Docker Engine runs on another computer, or keeps it where this gateway may not look'

/** Volumes as the engine's named ones, found by their names and labels. */
export function createDockerVolumes(docker: Docker, cloudId: string, run: VolumeHelper): VolumeStore {
  const names = createNames(cloudId)
  const queue = createKeyedQueue()
  const nameOf = (id: string) => {
    if (!MACHINE_ID_PATTERN.test(id)) throw new ComputeError('unsupported', `not a volume id: ${id}`)
    return names.volume(id)
  }
  const make = async (id: string, name = nameOf(id)) => {
    // There already: the engine leaves it as it is.
    await docker.createVolume({
      Name: name,
      Driver: 'local',
      Labels: { [CLOUD_LABEL]: cloudId, [VOLUME_LABEL]: id },
    })
  }
  /** One that a dead gateway has left holds its volume. */
  const endErrand = (id: string) => orNull(docker.getContainer(names.errand(id)).remove({ force: true }))
  /** @throws ComputeError `failed` while a machine has it attached. */
  const remove = async (id: string) => {
    try {
      await endErrand(id)
      await orNull(docker.getVolume(nameOf(id)).remove())
      await orNull(docker.getVolume(names.copying(id)).remove())
    } catch (error) {
      if (statusCodeOf(error) === STATUS_CONFLICT) {
        throw new ComputeError('failed', `a machine has the volume ${id} attached`, { cause: error })
      }
      throw error
    }
  }
  /** @throws What dockerode throws, or ComputeError `not_found` for a copy that is not whole. */
  const inspectWhole = async (id: string) => {
    const found = await docker.getVolume(nameOf(id)).inspect()
    if (await orNull(docker.getVolume(names.copying(id)).inspect())) {
      throw new ComputeError('not_found', `the volume ${id} is not whole yet`)
    }
    return found
  }
  const count = async (id: string) => {
    // The engine would make one that is not there.
    await inspectWhole(id)
    const { exitCode, output } = await run({
      id,
      script: 'du -skx /volume',
      mounts: [{ volume: id, at: '/volume', readOnly: true }],
      rights: ['DAC_READ_SEARCH'],
      timeoutMs: COUNT_TIMEOUT_MS,
    })
    // A file that goes while it is counted is told by the code alone.
    const kb = exitCode === null ? null : /^(\d+)\t/m.exec(output)?.[1]
    if (kb === undefined) throw new ComputeError('failed', `du did not count it: ${output.trim()}`)
    return kb === null ? null : { used_bytes: Number(kb) * KB }
  }
  const copying: DockerCopyDeps = {
    run,
    count,
    isThere: async id => (await orNull(docker.getVolume(nameOf(id)).inspect())) !== null,
    isPartial: async id => (await orNull(docker.getVolume(names.copying(id)).inspect())) !== null,
    begin: async id => {
      await make(id, names.copying(id))
      await endErrand(id)
      await orNull(docker.getVolume(nameOf(id)).remove())
      await make(id)
    },
    end: async id => {
      await docker.getVolume(names.copying(id)).remove()
    },
    remove,
  }
  return {
    size_limit: NOT_HELD,
    fixed_size_limit: NOT_HELD,
    sharing: { offered: true },
    make: ({ id }) => translated(`making the volume ${id}`, () => make(id)),
    grow: ({ id }) =>
      translated(`growing the volume ${id}`, async () => {
        await docker.getVolume(nameOf(id)).inspect()
      }),
    delete: id => translated(`removing the volume ${id}`, () => remove(id)),
    measure: id => translated(`measuring the volume ${id}`, () => count(id)),
    copies: {
      copy: (order, signal) =>
        queue(order.id, () =>
          translated(`copying the volume ${order.from}`, () => {
            // Refused here where it is no id at all.
            nameOf(order.from)
            nameOf(order.id)
            return copyDockerVolume(copying, order, signal)
          }),
        ),
    },
    folder: id =>
      translated(`finding the volume ${id}`, async () => {
        const { Driver, Mountpoint } = await inspectWhole(id)
        // An engine behind a socket of this computer may still be another computer's: then its folder is not here.
        const isHere = Driver === 'local' && 'socketPath' in docker.modem && Boolean(docker.modem.socketPath)
        const mayEnter =
          isHere &&
          (await access(Mountpoint, constants.R_OK | constants.W_OK | constants.X_OK).then(
            () => true,
            () => false,
          ))
        return mayEnter ? { path: Mountpoint } : { lacks: NOT_HERE }
      }),
    list: () =>
      translated('listing volumes', async () => {
        const { Volumes } = await docker.listVolumes({
          filters: JSON.stringify({ label: [`${CLOUD_LABEL}=${cloudId}`] }),
        })
        return [...new Set((Volumes ?? []).flatMap(({ Labels }) => Labels?.[VOLUME_LABEL] ?? []))]
      }),
  }
}
