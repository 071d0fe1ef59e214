import type Docker from 'dockerode'
import { ComputeError } from '../port/compute-error.ts'

/**
 * One run of a machine's container, from a start to its end. Whatever leads into it by an address is to be this one's when
 * it is handed out: the engine gives the address of one that has ended to the next one, which may be another customer's.
 */
export interface ContainerRun {
  /** The machine's id. */
  id: string
  container_id: string
  /** Tells it from every other run of any machine. */
  key: string
  /** Its address in the cloud's network; null where it has none. */
  address: string | null
  /** Where ports are published, by `80/tcp` and the like. */
  published: Docker.ContainerInspectInfo['NetworkSettings']['Ports']
}

/**
 * Looks at the run of a machine that is under way.
 * @param network The cloud's network, by name.
 * @throws ComputeError `not_running`; or what dockerode throws.
 */
export async function runOf(container: Docker.Container, id: string, network: string): Promise<ContainerRun> {
  const { Id, State, NetworkSettings } = await container.inspect()
  if (!State.Running) throw new ComputeError('not_running', 'the machine does not run')
  return {
    id,
    container_id: Id,
    key: `${Id} ${State.StartedAt}`,
    address: NetworkSettings.Networks[network]?.IPAddress || null,
    published: NetworkSettings.Ports,
  }
}
