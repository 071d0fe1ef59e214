import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { PodPlace } from './kube-exec.ts'
import { type KubeLink, orNull } from './kube-link.ts'
import { pathOf } from './kube-names.ts'
import { MACHINE_CONTAINER } from './pod-plan.ts'

const PATIENCE_MS = 15_000
const BYTES_MAX = 16 * 1024 * 1024

/** What machines' main programs wrote, as their nodes keep it: with the pod it is gone. */
export function createKubeLogs(link: KubeLink) {
  const open = ({ namespace, pod }: PodPlace, query: Record<string, string | number | boolean | undefined>) =>
    link.stream(`${pathOf('pods', namespace, pod)}/log`, {
      query: { container: MACHINE_CONTAINER, ...query },
      timeoutMs: PATIENCE_MS,
    })
  return {
    /** The last lines; none where nothing was started yet. */
    async read(place: PodPlace, linesMax: number): Promise<string> {
      const stream = await orNull(open(place, { tailLines: linesMax, limitBytes: BYTES_MAX }))
      return stream ? (await buffer(stream)).toString() : ''
    },
    /** The last lines, and then what comes until the machine ends. The node waits for whoever reads. */
    follow: (place: PodPlace, linesMax: number): Promise<Readable> =>
      open(place, { tailLines: linesMax, follow: true }),
    /** All that is kept. */
    kept: (place: PodPlace): Promise<Readable> => open(place, {}),
  }
}
