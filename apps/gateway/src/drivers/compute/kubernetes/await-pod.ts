import type { V1Pod } from '@kubernetes/client-node'
import { ComputeError } from '../port/compute-error.ts'
import { KubeRefusal } from './kube-errors.ts'
import { type KubeLink, orNull } from './kube-link.ts'
import { pathOf } from './kube-names.ts'
import { troubleOf } from './pod-status.ts'
import { eventsOf } from './watch-pods.ts'

/** A node may be on its way: a cluster that grows by itself has so long before a pod is given up. */
const PLACE_PATIENCE_MS = 60_000
const WATCH_S = 60
/** Its disk is still being made, which takes a cloud its time: whoever starts the machine says how long that may be. */
const WAITS_FOR_DISK = /unbound immediate PersistentVolumeClaims/
const AGAIN_MS = 200

/**
 * Waits until a pod is what is wanted, by a watch of it alone.
 * @param place.uid The very one: another one of its name is not waited for.
 * @param options.until Also true of one that has ended.
 * @throws ComputeError that says why it will not be so; `failed` where it is gone, or the call was given up.
 */
export async function awaitPod(
  link: Pick<KubeLink, 'json' | 'stream'>,
  place: { namespace: string; name: string; uid?: string | undefined },
  options: {
    until(pod: V1Pod): boolean
    hadLogin: boolean
    signal: AbortSignal
    timeoutMs: number
    placePatienceMs?: number
  },
): Promise<V1Pod> {
  const { until, signal } = options
  const beganMs = performance.now()
  const patienceMs = options.placePatienceMs ?? PLACE_PATIENCE_MS
  const path = pathOf('pods', place.namespace, place.name)
  const both = AbortSignal.any([signal, AbortSignal.timeout(options.timeoutMs)])

  /** Whether it is what is wanted; throws where it never will be. */
  const check = (pod: V1Pod): boolean => {
    if (until(pod)) return true
    const trouble = troubleOf(pod, options.hadLogin)
    if (trouble === null) return false
    const isPatient = performance.now() - beganMs < patienceMs || WAITS_FOR_DISK.test(trouble.message)
    if (trouble.code === 'unschedulable' && isPatient) return false
    throw trouble
  }

  for (;;) {
    if (both.aborted) throw new ComputeError('failed', `${place.name} was not waited for any longer`)
    const pod = await orNull(link.json<V1Pod>('GET', path, { signal }))
    if (!pod || (place.uid !== undefined && pod.metadata?.uid !== place.uid)) {
      throw new ComputeError('failed', `${place.name} was taken away while it was made`)
    }
    if (check(pod)) return pod
    const found = await watchOne(pod)
    if (found) return found
    await new Promise(resolve => setTimeout(resolve, AGAIN_MS))
  }

  /** Hears of one pod from a version of it on; null where that ends. */
  async function watchOne(pod: V1Pod): Promise<V1Pod | null> {
    const leftS = (patienceMs - (performance.now() - beganMs)) / 1_000
    try {
      const stream = await link.stream(pathOf('pods', place.namespace), {
        query: {
          fieldSelector: `metadata.name=${place.name}`,
          watch: true,
          resourceVersion: pod.metadata?.resourceVersion,
          // One that no node takes is looked at again when its time is over: nothing happens then by itself.
          timeoutSeconds: leftS > 0 ? Math.ceil(leftS) + 1 : WATCH_S,
        },
        signal: both,
      })
      for await (const { type, object } of eventsOf(stream)) {
        if (type === 'DELETED' || type === 'ERROR') return null
        if (check(object)) return object
      }
    } catch (error) {
      if (error instanceof ComputeError && error.code !== 'engine_unavailable') {
        if (both.aborted) return null
        throw error
      }
      if (!(error instanceof ComputeError) && !(error instanceof KubeRefusal) && !isBroken(error)) throw error
    }
    return null
  }
}

/** A stream that was cut, or let go. */
const isBroken = (error: unknown) =>
  error instanceof Error &&
  ((error as NodeJS.ErrnoException).code !== undefined || error.name === 'AbortError')
