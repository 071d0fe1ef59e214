import type Docker from 'dockerode'
import { CLOUD_LABEL, createNames } from './container-plan.ts'
import { isMissing, statusCodeOf } from './docker-errors.ts'

const BRIDGE_NAME_OPTION = 'com.docker.network.bridge.name'
const STATUS_CONFLICT = 409
/** As Docker calls the interface of a network that names none. */
const BRIDGE_ID_LENGTH = 12

/** The network of a cloud, as far as a filter needs to know it. */
export interface CloudNetwork {
  /** The interface of the engine's computer by which what machines send comes in. */
  bridge: string
  has_ipv6: boolean
}

/**
 * Finds or makes the cloud's network, in which machines reach what lies outside but not one another. Throws what
 * dockerode throws.
 */
export async function ensureNetwork(docker: Docker, cloudId: string): Promise<CloudNetwork> {
  const { network: name } = createNames(cloudId)
  const network = docker.getNetwork(name)
  let found: Docker.NetworkInspectInfo
  try {
    found = await network.inspect()
  } catch (error) {
    if (!isMissing(error)) throw error
    await docker
      .createNetwork({
        Name: name,
        Driver: 'bridge',
        CheckDuplicate: true,
        Labels: { [CLOUD_LABEL]: cloudId },
        Options: { 'com.docker.network.bridge.enable_icc': 'false' },
      })
      .catch(refusal => {
        // Another process of the same cloud was quicker.
        if (statusCodeOf(refusal) !== STATUS_CONFLICT) throw refusal
      })
    found = await network.inspect()
  }
  return {
    bridge: found.Options?.[BRIDGE_NAME_OPTION] ?? `br-${found.Id.slice(0, BRIDGE_ID_LENGTH)}`,
    has_ipv6: found.EnableIPv6 === true,
  }
}
