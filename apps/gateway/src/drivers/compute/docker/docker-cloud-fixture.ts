import type Docker from 'dockerode'
import { eventually } from '../conformance/tools.ts'
import { CLOUD_LABEL, createNames } from './container-plan.ts'
import { isMissing } from './docker-errors.ts'

/**
 * Removes what a cloud of a test has on an engine that others use as well: its containers, its network, and its images, with
 * those that it made or saved. Volumes are left to who made them.
 */
export async function removeCloud(docker: Docker, cloudId: string): Promise<void> {
  const filters = { label: [`${CLOUD_LABEL}=${cloudId}`] }
  // What ends by itself may be in the way for a moment.
  await eventually(async () => {
    for (const { Id } of await docker.listContainers({ all: true, filters })) {
      await gone(docker.getContainer(Id).remove({ force: true }))
    }
    await gone(docker.getNetwork(createNames(cloudId).network).remove())
    for (const { RepoTags } of await docker.listImages()) {
      for (const name of RepoTags ?? []) if (isOf(cloudId, name)) await gone(docker.getImage(name).remove())
    }
  })
}

/** Names of a cloud's images are its own, or begin with its own and a dot. */
function isOf(cloudId: string, name: string): boolean {
  const own = `berth-${cloudId}`
  return name.startsWith(`${own}:`) || name.startsWith(`${own}.`)
}

async function gone(removal: Promise<unknown>): Promise<void> {
  await removal.catch(error => {
    if (!isMissing(error)) throw error
  })
}
