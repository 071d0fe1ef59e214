import type Docker from 'dockerode'
import type { Logger } from 'pino'
import { CLOUD_LABEL, createNames, INSTANCE_LABEL, machineOf, type Predecessor } from './container-plan.ts'
import { isMissing, orNull, statusCodeOf } from './docker-errors.ts'

const STATUS_CONFLICT = 409

export interface ReplacementDeps {
  docker: Docker
  cloudId: string
  /** Each replacement adds a layer; a machine on more than this is put on one. */
  layersMax: number
  log: Logger
}

/**
 * Puts a container in the place of another that does not run, with the same files. The old one is there until
 * the new one is, under another name: cut short at any point, the machine has all that it stored, and `settle`
 * goes on from there. Throws what dockerode throws.
 */
export function createReplacement({ docker, cloudId, layersMax, log }: ReplacementDeps) {
  const names = createNames(cloudId)
  /** What was saved of this cloud's machines: of one, or of all. */
  async function savedImages(id?: string): Promise<{ image: string; machine: string }[]> {
    const label = [id === undefined ? INSTANCE_LABEL : `${INSTANCE_LABEL}=${id}`]
    const images = await docker.listImages({ filters: { label } })
    return images.flatMap(({ Id, Labels }) => {
      const machine = machineOf(Labels, cloudId)
      return machine === null ? [] : [{ image: Id, machine }]
    })
  }

  /** Makes an image of a container's files; gives its reference. */
  async function save(id: string, container: Docker.Container, imageId: string): Promise<string> {
    const { repo, tag } = names.saved(id)
    const image = await docker.getImage(imageId).inspect()
    if ((image.RootFS?.Layers?.length ?? 0) < layersMax) await container.commit({ repo, tag })
    else {
      const changes = [`LABEL ${CLOUD_LABEL}=${cloudId}`, `LABEL ${INSTANCE_LABEL}=${id}`]
      const answer = await docker.importImage(await container.export(), { repo, tag, changes })
      await new Promise<void>((resolve, reject) => {
        docker.modem.followProgress(answer, error => (error ? reject(error) : resolve()))
      })
    }
    return `${repo}:${tag}`
  }

  /** Removes one saved image; an engine that builds others on it keeps it, and removes it with them. */
  async function removeImage(imageId: string): Promise<void> {
    try {
      await docker.getImage(imageId).remove({ force: true })
    } catch (error) {
      if (!isMissing(error) && statusCodeOf(error) !== STATUS_CONFLICT) throw error
    }
  }

  return {
    /** Ends a replacement that was cut short: the new container stays if it is there, else the old one does. */
    async settle(id: string): Promise<void> {
      const before = await orNull(docker.getContainer(names.before(id)).inspect())
      if (!before) return
      const old = docker.getContainer(before.Id)
      const successor = await orNull(docker.getContainer(names.container(id)).inspect())
      if (successor) await old.remove({ force: true })
      else await old.rename({ name: names.container(id) })
      log.info({ machine: id }, 'ended the replacement of a container that had been cut short')
    },

    /** Replaces a container by one that `plan` makes from an image of its files. */
    async replace(
      id: string,
      existing: Docker.ContainerInspectInfo,
      plan: (imageRef: string, predecessor: Predecessor) => Docker.ContainerCreateOptions,
    ): Promise<void> {
      const old = docker.getContainer(existing.Id)
      const imageRef = await save(id, old, existing.Image)
      const saved = await docker.getImage(imageRef).inspect()
      const { Config } = existing
      const volumes = volumesOf(existing)
      const declared = volumes.filter(({ name }) => !names.isVolume(name))
      const options = plan(imageRef, {
        id: existing.Id,
        imageBytes: saved.Size,
        env: Config.Env ?? [],
        user: Config.User,
        working_dir: Config.WorkingDir,
        has_volumes: declared.length > 0,
        volumes: declared.length < volumes.length ? declared : null,
      })
      await old.rename({ name: names.before(id) })
      try {
        await docker.createContainer(options)
      } catch (error) {
        // As it was before. Should that fail, too, `settle` does it next time.
        await old.rename({ name: names.container(id) }).catch(() => undefined)
        throw error
      }
      // Without `v`: its volumes belong to the new one now.
      await old.remove({ force: true })
      const previous = await orNull(docker.getImage(existing.Image).inspect())
      if (previous?.Config.Labels?.[INSTANCE_LABEL] === id) await removeImage(previous.Id)
    },

    /** Removes what was saved of a machine whose containers are gone. */
    async removeSaved(id: string): Promise<void> {
      for (const { image } of await savedImages(id)) await removeImage(image)
    },

    /** Ids of machines of which something was saved. */
    async savedIds(): Promise<string[]> {
      return (await savedImages()).map(({ machine }) => machine)
    },
  }
}

/** The volumes that a container has, by name and place. */
export function volumesOf({ Mounts }: Docker.ContainerInspectInfo): { name: string; path: string }[] {
  return Mounts.flatMap(({ Type, Name, Destination }) =>
    Type === 'volume' && Name ? [{ name: Name, path: Destination }] : [],
  )
}
