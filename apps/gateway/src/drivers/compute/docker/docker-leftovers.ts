import type Docker from 'dockerode'
import { ComputeError } from '../port/compute-error.ts'
import { CLOUD_LABEL, createNames } from './container-plan.ts'
import { statusCodeOf } from './docker-errors.ts'
import { ensureGuardImage, HOST_ROOT } from './guard-image.ts'

/**
 * What an engine says of a start that a run of it before has begun, and of which it knows nothing any more; the last also
 * while it clears up behind what was ended.
 */
const IN_THE_WAY =
  /\bid already in use\b|\btask [0-9a-f]{64}: already exists|failed to start shim: mkdir \S+[0-9a-f]{64}: file exists/
/** Where the folder lies that an engine keeps of such a start, by its own word: one for each container, of its id. */
const FOLDER_IN_THE_WAY = /failed to start shim: mkdir (\/\S+)\/([0-9a-f]{64}): file exists/
/** Where the folders of all containers are bound in. */
const FOLDERS = '/starts'
const MEMORY_BYTES_MAX = 64 * 1024 * 1024
const PROCESSES_MAX = 16

/** How the next script ends where it found nothing. */
const EXIT_NOTHING = 3

/**
 * Kills all of a container on the computer that it runs on, by its id: what runs in it, which its control group tells, and
 * then the process by which an engine holds it.
 */
const END_SCRIPT = `
end=${EXIT_NOTHING}
for file in $(grep -ls -- "$1" /proc/[0-9]*/cgroup); do
  pid=\${file#/proc/}; kill -9 "\${pid%/*}"; end=0
done
for file in $(grep -lszx -- "$1" /proc/[0-9]*/cmdline); do
  pid=\${file#/proc/}; pid=\${pid%/*}
  case "$(cat "/proc/$pid/comm")" in containerd-shim*) kill -9 "$pid"; end=0;; esac
done
exit $end`

/** Whether a start failed by what an engine that was killed has left of the container. */
export function isInTheWay(error: unknown): boolean {
  return statusCodeOf(error) !== undefined && IN_THE_WAY.test(String((error as Error).message))
}

/** What is kept of a start that was cut off before its first process: nothing but files. */
const CLEAR_SCRIPT = `rm -rf -- "${FOLDERS}/$1"`

/** Ends what an engine that was killed has left of containers. */
export interface DockerLeftovers {
  /**
   * @param containerId Of one that does not run, as its engine says.
   * @returns Whether there was anything, which the engine clears up behind then.
   * @throws ComputeError, or what dockerode throws.
   */
  end(containerId: string): Promise<boolean>
  /**
   * Removes the folder of a start that was cut off, which the engine itself does not get rid of. Nothing of the container may
   * run, and the engine have had its time to clear up.
   * @param refusal What a start failed by. One that names no such folder of that container is thrown again.
   * @throws ComputeError, or what dockerode throws.
   */
  clear(containerId: string, refusal: unknown): Promise<void>
}

/**
 * An engine that is killed in the midst of a start forgets of it what it had not written down: processes of the container
 * run on, or wait to begin, and neither stop nor removal ends them; nor is the container ever started again. No call of the
 * engine's leads to them. So a short-lived container of ours, of the guard's image, kills them: it sees the processes of the
 * engine's computer and may send signals, and has no other right and no network.
 */
export function createLeftovers(deps: {
  docker: Docker
  cloudId: string
  /** What runs it, on its computer's own kernel; left out for the engine's own choice. */
  runtime: string | undefined
}): DockerLeftovers {
  const { docker, cloudId, runtime } = deps
  const { guardImage } = createNames(cloudId)

  /** Runs a script on the engine's computer, with a container's id, until it is done. Gives its exit status. */
  async function run(
    script: string,
    containerId: string,
    rights: Pick<Docker.HostConfig, 'PidMode' | 'CapAdd' | 'Mounts'>,
  ): Promise<number> {
    await ensureGuardImage(docker, guardImage)
    const container = await docker.createContainer({
      Image: `${guardImage.repo}:${guardImage.tag}`,
      Labels: { [CLOUD_LABEL]: cloudId },
      Entrypoint: ['/bin/sh', '-c', script, 'leftovers', containerId],
      HostConfig: {
        ...(runtime === undefined ? {} : { Runtime: runtime }),
        NetworkMode: 'none',
        AutoRemove: true,
        // Processes and files belong to users of the engine's computer.
        UsernsMode: 'host',
        ReadonlyRootfs: true,
        CapDrop: ['ALL'],
        // Without labels of SELinux it could not read the programs; a profile of AppArmor lets it signal its like alone.
        SecurityOpt: ['no-new-privileges', 'label=disable', 'apparmor=unconfined'],
        Memory: MEMORY_BYTES_MAX,
        PidsLimit: PROCESSES_MAX,
        LogConfig: { Type: 'none', Config: {} },
        ...rights,
        Mounts: [{ Type: 'bind', Source: '/', Target: HOST_ROOT, ReadOnly: true }, ...(rights.Mounts ?? [])],
      },
    })
    const ended = container.wait({ condition: 'next-exit' }) as Promise<{ StatusCode: number }>
    try {
      const [{ StatusCode }] = await Promise.all([ended, container.start()])
      if (StatusCode === 0 || StatusCode === EXIT_NOTHING) return StatusCode
      throw new ComputeError('failed', `what is left of ${containerId} cannot be ended: exit ${StatusCode}`)
    } catch (error) {
      // One that never ran does not go by itself.
      await container.remove({ force: true }).catch(() => undefined)
      throw error
    }
  }

  return {
    async end(containerId) {
      return (await run(END_SCRIPT, containerId, { PidMode: 'host', CapAdd: ['KILL'] })) !== EXIT_NOTHING
    },
    async clear(containerId, refusal) {
      const [, folders, id] = FOLDER_IN_THE_WAY.exec(String((refusal as Error).message)) ?? []
      if (folders === undefined || id !== containerId) throw refusal
      // What is mounted below it is left out: nobody is to remove through that.
      const alone = { Propagation: 'rprivate' as const, NonRecursive: true }
      const mount = { Type: 'bind' as const, Source: folders, Target: FOLDERS, BindOptions: alone }
      await run(CLEAR_SCRIPT, containerId, { Mounts: [mount] })
    },
  }
}
