import { execFile } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { promisify } from 'node:util'
import { CLOUD_LABEL, INSTANCE_LABEL } from '../../src/drivers/compute/docker/container-plan.ts'
import { startDockerd } from '../../src/drivers/compute/docker/dockerd-fixture.ts'
import { importTestImage } from '../../src/drivers/compute/docker/test-image.ts'
import type { KilledEngine } from './killed-engine-fixture.ts'
import { killProcesses } from './processes-fixture.ts'

const run = promisify(execFile)

/**
 * Starts a Docker daemon of the test's own, in a network namespace of its own: its rules and bridges go with that.
 * @returns Or why that cannot be done here.
 */
export async function startKilledDocker(): Promise<KilledEngine | { why: string }> {
  if (process.getuid?.() !== 0) return { why: 'only root can start a Docker daemon' }
  const namespace = `berth-k-${randomBytes(3).toString('hex')}`
  // A range for tests of networks, at which every port is refused from here: else it would be looked for where the daemon
  // publishes it, by a number that is somebody else's outside of its namespace.
  const networks = `198.18.${randomInt(256)}.0/24`
  await run('ip', ['netns', 'add', namespace])
  await run('ip', ['route', 'replace', 'local', networks, 'dev', 'lo'])
  const leave = async () => {
    await run('ip', ['netns', 'del', namespace])
    await run('ip', ['route', 'del', 'local', networks, 'dev', 'lo'])
  }
  const daemon = await startDockerd({ network_namespace: namespace, networks })
  if ('why' in daemon) {
    await leave()
    return daemon
  }
  const { docker } = daemon
  const image = await importTestImage(docker)
  const machines = () => docker.listContainers({ all: true, filters: { label: [INSTANCE_LABEL] } })

  return {
    name: 'docker',
    kind: 'POD',
    waits: false,
    description: { driver: 'docker', url: `unix://${daemon.socket_path}` },
    recipe: { docker: image },
    async kill(victim) {
      if (victim === 'helper') {
        await daemon.kill()
        return daemon.start()
      }
      for (const { Id } of await machines()) {
        const { State } = await docker.getContainer(Id).inspect()
        if (State.Pid > 0) killProcesses([{ pid: State.Pid }])
      }
    },
    async running() {
      const found = await machines()
      return found
        .filter(({ State }) => State === 'running')
        .map(({ Labels }) => Labels[INSTANCE_LABEL] ?? '')
        .sort()
    },
    async strays(ids) {
      const found = await machines()
      return found.flatMap(({ Names, Labels }) => {
        const isHalfReplaced = Names.some(name => name.endsWith('.before'))
        return isHalfReplaced || !ids.includes(Labels[INSTANCE_LABEL] ?? '') ? Names : []
      })
    },
    /** What stays is the guard of the cloud's network. */
    async left() {
      const [containers, images, volumes] = await Promise.all([
        docker.listContainers({ all: true }),
        docker.listImages({ all: true }),
        docker.listVolumes(),
      ])
      const isGuard = ({ Names, Labels }: (typeof containers)[number]) =>
        CLOUD_LABEL in Labels && Names.every(name => name.endsWith('.guard'))
      return [
        ...containers.filter(one => !isGuard(one)).flatMap(({ Names }) => Names),
        // Saved of machines, or made of them.
        ...images.flatMap(({ RepoTags, Labels }) =>
          Labels && INSTANCE_LABEL in Labels ? (RepoTags ?? ['an image without a name']) : [],
        ),
        ...(volumes.Volumes ?? []).map(({ Name }) => Name),
      ]
    },
    async remove() {
      await daemon.remove()
      await leave()
    },
  }
}
