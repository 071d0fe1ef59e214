import type Docker from 'dockerode'
import { isMissing, statusCodeOf } from './docker-errors.ts'

const STATUS_CONFLICT = 409

/** By what all is known that a build makes. */
export const buildMark = {
  label: 'berth.build',
  of: (cloudId: string, imageId: string) => `${cloudId}/${imageId}`,
  /** How containers begin that never run. */
  container: (cloudId: string, imageId: string) => `berth-${cloudId}-${imageId}.build`,
}

/** Images of builds that something is left of. Throws what dockerode throws. */
export async function listBuildLeftovers(docker: Docker, cloudId: string): Promise<string[]> {
  const begin = buildMark.of(cloudId, '')
  const images = await docker.listImages({ filters: { label: [buildMark.label], dangling: ['true'] } })
  return [
    ...new Set(
      images.flatMap(({ Labels }) => {
        const mark = Labels?.[buildMark.label] ?? ''
        return mark.startsWith(begin) ? [mark.slice(begin.length)] : []
      }),
    ),
  ]
}

/** Removes what is left of a build: containers that never ran, and layers that no image has. */
export async function removeBuildLeftovers(docker: Docker, cloudId: string, imageId: string): Promise<void> {
  const label = [`${buildMark.label}=${buildMark.of(cloudId, imageId)}`]
  const prefix = `/${buildMark.container(cloudId, imageId)}`
  for (const { Id, Names, State } of await docker.listContainers({ all: true, filters: { label } })) {
    // One of no name of ours is the engine's own, by which it writes down what a step says.
    const isMachine = !Names.some(name => name.startsWith(prefix)) && State === 'running'
    if (!isMachine) await removed(docker.getContainer(Id).remove({ force: true, v: true }))
  }
  for (const { Id } of await docker.listImages({ filters: { label, dangling: ['true'] } }))
    await removed(docker.getImage(Id).remove())
}

/** Gone already, or in use by what goes first: the next sweep removes it then. */
async function removed(removal: Promise<unknown>): Promise<void> {
  await removal.catch((error: unknown) => {
    if (!isMissing(error) && statusCodeOf(error) !== STATUS_CONFLICT) throw error
  })
}
