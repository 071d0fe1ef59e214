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
const MEMORY_BYTES_MAX = 64 * 1024 * 1024
const PROCESSES_MAX = 16

/**
 * Kills all of some containers on the computer that it runs on, each by its id: what runs in them, which their control
 * groups tell, and then the process by which an engine holds them.
 */
const END_SCRIPT = `
for id; do
  for file in $(grep -ls -- "$id" /proc/[0-9]*/cgroup); do
    pid=\${file#/proc/}; kill -9 "\${pid%/*}"
  done
  for file in $(grep -lszx -- "$id" /proc/[0-9]*/cmdline); do
    pid=\${file#/proc/}; pid=\${pid%/*}
    case "$(cat "/proc/$pid/comm")" in containerd-shim*) kill -9 "$pid";; esac
  done
done
:`

/** Whether a start failed by what an engine that was killed has left of the container. */
export function isInTheWay(error: unknown): boolean {
  return statusCodeOf(error) !== undefined && IN_THE_WAY.test(String((error as Error).message))
}

/** Ends what an engine that was killed has left of containers. */
export interface DockerLeftovers {
  /** @param containerId Of one that does not run, as its engine says. @throws ComputeError, or what dockerode throws. */
  end(containerId: string): Promise<void>
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
  return {
    async end(containerId) {
      await ensureGuardImage(docker, guardImage)
      const container = await docker.createContainer({
        Image: `${guardImage.repo}:${guardImage.tag}`,
        Labels: { [CLOUD_LABEL]: cloudId },
        Entrypoint: ['/bin/sh', '-c', END_SCRIPT, 'end', containerId],
        HostConfig: {
          ...(runtime === undefined ? {} : { Runtime: runtime }),
          NetworkMode: 'none',
          PidMode: 'host',
          AutoRemove: true,
          // The processes belong to users of the engine's computer.
          UsernsMode: 'host',
          ReadonlyRootfs: true,
          CapDrop: ['ALL'],
          CapAdd: ['KILL'],
          // Without labels of SELinux it could not read the programs; a profile of AppArmor lets it signal its like alone.
          SecurityOpt: ['no-new-privileges', 'label=disable', 'apparmor=unconfined'],
          Mounts: [{ Type: 'bind', Source: '/', Target: HOST_ROOT, ReadOnly: true }],
          Memory: MEMORY_BYTES_MAX,
          PidsLimit: PROCESSES_MAX,
          LogConfig: { Type: 'none', Config: {} },
        },
      })
      const ended = container.wait({ condition: 'next-exit' }) as Promise<{ StatusCode: number }>
      try {
        const [{ StatusCode }] = await Promise.all([ended, container.start()])
        if (StatusCode === 0) return
        throw new ComputeError('failed', `what is left of ${containerId} cannot be ended: exit ${StatusCode}`)
      } catch (error) {
        // One that never ran does not go by itself.
        await container.remove({ force: true }).catch(() => undefined)
        throw error
      }
    },
  }
}
