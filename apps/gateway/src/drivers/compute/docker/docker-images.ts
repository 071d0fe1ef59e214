import type { Readable } from 'node:stream'
import type Docker from 'dockerode'
import { createKeyedQueue } from '../keyed-queue.ts'
import { MACHINE_ID_PATTERN } from '../machine-id.ts'
import { mustGoOn } from '../own-archive.ts'
import { ComputeError } from '../port/compute-error.ts'
import { registryOf } from '../port/image-reference.ts'
import type { ImageRecipe, ImageStore, OwnImages } from '../port/images.ts'
import { asNobody } from '../port/registry-access.ts'
import type { DiskRoom } from '../sandbox/disk-room.ts'
import { listBuildLeftovers, removeBuildLeftovers } from './build-leftovers.ts'
import { CLOUD_LABEL, createNames, IMAGE_LABEL, INSTANCE_LABEL } from './container-plan.ts'
import { isMissing, orNull, statusCodeOf, toComputeError, translated } from './docker-errors.ts'
import { dockerImage, findDockerImage, ownReference } from './docker-recipe.ts'
import { loadImage } from './load-image.ts'
import { pullImage } from './pull-image.ts'
import { saveImage } from './save-image.ts'

const STATUS_CONFLICT = 409

type Sized = Docker.ContainerInspectInfo & { SizeRw?: number }

/** Images of an engine: those of registries, and those that are made here from machines. */
export function createDockerImages(deps: {
  docker: Docker
  cloudId: string
  soon<T>(ask: (options: { abortSignal: AbortSignal }) => Promise<T>): Promise<T>
  /** The room on the engine's disk; null where it cannot be seen. */
  room: (() => Promise<DiskRoom>) | null
  /** How long an engine may say nothing of a pull; left out: some minutes. Tests have less. */
  silentMsMax?: number
}): Omit<ImageStore, 'dockerfile'> {
  const { docker, cloudId, soon, room, silentMsMax } = deps
  return {
    lackFor: image => (findDockerImage(image, cloudId) ? null : `${image.id} cannot run on Docker.`),
    async has(image) {
      const known = findDockerImage(image, cloudId)
      if (!known || known.is_asked_for) return false
      const found = await translated(`looking for ${known.reference}`, () =>
        orNull(soon(() => docker.getImage(known.reference).inspect())),
      )
      return found !== null
    },
    async pull(image, onProgress, signal, access = asNobody) {
      const known = dockerImage(image, cloudId)
      // What authorities it believes is the daemon's own affair.
      const { login } = known.is_own ? { login: null } : await access(registryOf(known.reference))
      await pullImage(docker, { ...known, login, room, silentMsMax }, onProgress, signal)
    },
    own: createOwnImages(docker, cloudId),
  }
}

function createOwnImages(docker: Docker, cloudId: string): OwnImages {
  const names = createNames(cloudId)
  const queue = createKeyedQueue()
  const referenceOf = (imageId: string) => {
    if (!MACHINE_ID_PATTERN.test(imageId))
      throw new ComputeError('unsupported', `not an image id: ${imageId}`)
    return ownReference(cloudId, imageId)
  }

  async function build(machineId: string, imageId: string, onBytes: (done: number, total: number) => void) {
    const { repo, tag } = referenceOf(imageId)
    if (await orNull(docker.getImage(`${repo}:${tag}`).inspect())) return
    const container = docker.getContainer(names.container(machineId))
    // The engine knows the option; the type declarations do not.
    const { SizeRw = 0 } = (await container.inspect({
      size: true,
    } as Docker.ContainerInspectOptions)) as Sized
    onBytes(0, SizeRw)
    // Without the mark of its machine, with which it would go. What the machine goes by of its own image stays in a
    // label: so the next machine starts as the first one did, and not as a machine within a machine.
    const labels = `${CLOUD_LABEL}=${cloudId} ${IMAGE_LABEL}=${imageId} ${INSTANCE_LABEL}=""`
    await container.commit({ repo, tag, changes: `LABEL ${labels}` })
    onBytes(SizeRw, SizeRw)
  }

  /** What an engine that was killed had made of images and not named yet: nobody finds it by its name. */
  async function unnamed(): Promise<{ image: string; id: string; size_bytes: number }[]> {
    const label = [`${CLOUD_LABEL}=${cloudId}`, `${INSTANCE_LABEL}=`, IMAGE_LABEL]
    const images = await docker.listImages({ filters: { dangling: ['true'], label } })
    return images.map(({ Id, Labels, Size }) => ({
      image: Id,
      id: Labels?.[IMAGE_LABEL] ?? '',
      size_bytes: Size,
    }))
  }

  return {
    build: ({ machine_id, image_id }, onProgress, signal) =>
      translated(`making the image ${image_id} of ${machine_id}`, async () => {
        referenceOf(image_id)
        if (!MACHINE_ID_PATTERN.test(machine_id)) {
          throw new ComputeError('not_found', `no machine ${machine_id}`)
        }
        const onBytes = (bytes_done: number, bytes_total: number) => onProgress({ bytes_done, bytes_total })
        await unlessGivenUp(signal, () => queue(image_id, () => build(machine_id, image_id, onBytes)))
        const recipe: ImageRecipe = { id: image_id, parts: { docker: { own: image_id } } }
        return recipe
      }),
    async *save(imageId, signal) {
      const { repo, tag } = referenceOf(imageId)
      const doing = `saving the image ${imageId}`
      try {
        const known = await unlessGivenUp(signal, () => orNull(docker.getImage(`${repo}:${tag}`).inspect()))
        if (!known) throw new ComputeError('not_found', `no image ${imageId}`)
        const open = () => unlessGivenUp(signal, () => docker.getImage(known.Id).get(), closeLate)
        for await (const piece of saveImage(open)) {
          mustGoOn(signal)
          yield piece
        }
      } catch (error) {
        throw toComputeError(error, doing)
      }
    },
    async load(imageId, archive, signal) {
      const { repo, tag } = referenceOf(imageId)
      const doing = `loading the image ${imageId}`
      const recipe: ImageRecipe = { id: imageId, parts: { docker: { own: imageId } } }
      mustGoOn(signal)
      return queue(imageId, async () => {
        const isHere = () =>
          translated(doing, async () => (await orNull(docker.getImage(`${repo}:${tag}`).inspect())) !== null)
        if (await isHere()) return recipe
        await loadImage(docker, { imageId, reference: `${repo}:${tag}` }, archive, signal)
        if (!(await isHere())) throw new ComputeError('failed', `${doing}: the engine ended it early`)
        return recipe
      })
    },
    delete: imageId =>
      translated(`removing the image ${imageId}`, () =>
        queue(imageId, async () => {
          const { repo, tag } = referenceOf(imageId)
          for (const { image, id } of await unnamed()) {
            if (id === imageId) await orNull(docker.getImage(image).remove())
          }
          try {
            // Not by force: machines that are made from it could not be made anew any more.
            await docker.getImage(`${repo}:${tag}`).remove()
          } catch (error) {
            if (statusCodeOf(error) === STATUS_CONFLICT) {
              throw new ComputeError('failed', `a machine is made from the image ${imageId}`, {
                cause: error,
              })
            }
            if (!isMissing(error)) throw error
          }
          await removeBuildLeftovers(docker, cloudId, imageId)
        }),
      ),
    list: () =>
      translated('listing images', async () => {
        const { repo } = ownReference(cloudId, '')
        const images = await docker.listImages({ filters: { reference: [repo] } })
        const named = images.flatMap(({ RepoTags, Size }) =>
          (RepoTags ?? []).flatMap(name =>
            name.startsWith(`${repo}:`) ? [{ id: name.slice(repo.length + 1), size_bytes: Size }] : [],
          ),
        )
        const others = (await unnamed()).filter(({ id }) => named.every(one => one.id !== id))
        const listed = [...named, ...others.map(({ id, size_bytes }) => ({ id, size_bytes }))]
        const begun = (await listBuildLeftovers(docker, cloudId)).filter(id =>
          listed.every(one => one.id !== id),
        )
        return [...listed, ...begun.map(id => ({ id, size_bytes: 0 }))]
      }),
  }
}

/**
 * The engine has no way to end what it has begun; whoever has given up need not wait for it.
 * @param late Told what it came to, where nobody waits for it any more.
 */
function unlessGivenUp<T>(
  signal: AbortSignal,
  work: () => Promise<T>,
  late: (value: T) => void = () => undefined,
): Promise<T> {
  const givenUp = () => new ComputeError('failed', 'the call was given up', { cause: signal.reason })
  if (signal.aborted) return Promise.reject(givenUp())
  return new Promise((resolve, reject) => {
    const abort = () => reject(givenUp())
    signal.addEventListener('abort', abort, { once: true })
    work()
      .then(value => {
        if (signal.aborted) late(value)
        resolve(value)
      }, reject)
      .finally(() => signal.removeEventListener('abort', abort))
  })
}

function closeLate(stream: NodeJS.ReadableStream): void {
  ;(stream as Readable).destroy()
}
