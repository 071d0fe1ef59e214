import type { Logger } from 'pino'
import type { PtyEvents, PtyProcess, Size } from '../sessions/session.ts'
import type { KeptPlace } from './keeper-words.ts'

/** How a keeper opens shells in machines, wherever those are. */
export interface KeptShells {
  /** @throws What `failureOf` turns into the port's own error. */
  open(
    machine: string,
    options: Size & { env: Record<string, string> },
    events: PtyEvents,
  ): Promise<PtyProcess>
  failureOf(error: unknown, doing: string): Error
}

/** Loads no more than what the place asks for: a keeper is small. */
export async function keptShells(place: KeptPlace, log: Logger): Promise<KeptShells> {
  if (place.kind !== 'kubernetes') {
    const { createDockerLink } = await import('./docker-link.ts')
    const { openDockerShell } = await import('./docker-shell.ts')
    const { toComputeError } = await import('./docker-errors.ts')
    const { docker } = createDockerLink(place, log)
    return {
      open: (machine, options, events) => openDockerShell(docker.getContainer(machine), options, events),
      failureOf: toComputeError,
    }
  }
  const { createKubeLink } = await import('../kubernetes/kube-link.ts')
  const { openKubeShell } = await import('../kubernetes/kube-shell.ts')
  const { toComputeError } = await import('../kubernetes/kube-errors.ts')
  const link = await createKubeLink(place.cluster)
  return {
    open: (machine, options, events) => {
      // No namespace has a dot in its name.
      const [namespace = '', ...pod] = machine.split('.')
      return openKubeShell(link, { namespace, pod: pod.join('.') }, options, events)
    },
    failureOf: toComputeError,
  }
}
