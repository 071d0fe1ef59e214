import { deployInstance, listInstances } from '@berth/contract/instances'
import { addSshKey } from '@berth/contract/ssh-keys'
import { deployBody } from '../src/domains/instances/instances-fixture.ts'
import { eventually } from '../src/domains/reach/reach-fixture.ts'
import { createSshClient, type SshClient } from './ssh-client.ts'
import type { TestGateway } from './start-gateway.ts'

/** A machine that runs, and whoever is let in by SSH. */
export interface SshInstance {
  ssh: SshClient
  /** The file of the private key that its customer has stored. */
  key: string
  /** How SSH names it: its id and the gateway's address. */
  at: string
}

/**
 * Deploys an instance of a new customer, who has one key stored, and waits until it runs.
 * @param gateway One with a port for SSH.
 * @param folder For keys and what is known of servers.
 */
export async function startSshInstance(gateway: TestGateway, folder: string): Promise<SshInstance> {
  const { token, userId } = await gateway.signUp()
  await gateway.grant(userId, 1_000)
  const body = deployBody({ http_ports: [], tcp_ports: [] })
  const { instance_id } = await gateway.data(deployInstance, { body }, { token })
  const ssh = createSshClient({ folder, port: gateway.gateway.ssh?.port ?? 0 })
  const { file, line } = ssh.makeKey('laptop')
  await gateway.data(addSshKey, { body: { name: '', public_key: line } }, { token })
  await ssh.learnHost()
  await eventually('a machine that runs', async () => {
    const [one] = await gateway.data(listInstances, {}, { token })
    return one?.status === 'running'
  })
  return { ssh, key: file, at: `${instance_id}@127.0.0.1` }
}
