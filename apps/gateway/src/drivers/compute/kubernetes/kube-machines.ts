import type { V1PersistentVolumeClaim, V1Pod } from '@kubernetes/client-node'
import type { Logger } from 'pino'
import { createKeyedQueue } from '../keyed-queue.ts'
import { HOSTNAME_PATTERN, MACHINE_ID_PATTERN } from '../machine-id.ts'
import { ComputeError } from '../port/compute-error.ts'
import type {
  CommandEnd,
  HostDrain,
  MachineListing,
  MachineSpec,
  MachineStatus,
  Machines,
} from '../port/machines.ts'
import { checkMounts } from '../volume-mounts.ts'
import { awaitPod } from './await-pod.ts'
import { laysTooLong } from './errand-pod.ts'
import { KubeRefusal } from './kube-errors.ts'
import { type KubeLink, translated } from './kube-link.ts'
import {
  CLOUD_LABEL,
  IMAGE_LABEL,
  INSTANCE_LABEL,
  type KubeNames,
  LAID_ANNOTATION,
  pathOf,
  RULE_ANNOTATION,
  RUNS_ANNOTATION,
  VOLUME_LABEL,
} from './kube-names.ts'
import { gpuNameOf } from './kube-nodes.ts'
import { type FoundDisk, type KubeObjects, ownerOf } from './kube-objects.ts'
import type { ReachedPod } from './kube-ports.ts'
import { ownIdOf } from './kube-recipe.ts'
import { createMachineOrders, notesOf } from './machine-orders.ts'
import { type ImageFacts, type PodTerms, planPod, STOP_GRACE_S } from './pod-plan.ts'
import { isOver, runsSince, statusOf } from './pod-status.ts'
import { quantity } from './quantity.ts'
import type { createTenantNamespaces } from './tenant-namespaces.ts'

/** A start is given up by its caller; what nobody gives up ends by itself. */
const START_TIMEOUT_MS = 3_600_000
const BYTES_PER_GB = 1024 ** 3
const STATUS_UNPROCESSABLE = 422

export interface KubeMachinesDeps {
  link: KubeLink
  objects: KubeObjects
  names: KubeNames
  terms: PodTerms
  cloudId: string
  /** By which machines' disks are made; null for the cluster's own choice. */
  storageClass: string | null
  namespaces: ReturnType<typeof createTenantNamespaces>
  factsOf(image: MachineSpec['image'], tenant: string | undefined): Promise<ImageFacts>
  /** Has the login of a machine's image go with its disk. False where it is not there. */
  ownLogin(disk: V1PersistentVolumeClaim, name: string): Promise<boolean>
  /** What a running machine says of its command's end. */
  readReport(pod: V1Pod): Promise<CommandEnd | null>
  /** Whether the node of a running machine is being taken out of service; null: it is not. */
  drainOf(pod: V1Pod): Promise<HostDrain | null>
  /** Called before a machine starts; fails where it must not. */
  admit(): void
  /** How long a machine may wait for a node that takes it. */
  placePatienceMs?: number | undefined
  log: Logger
}

/**
 * Machines as pods. What there is of a machine while it does not run is its disk, a claim by whose labels it is found, and a
 * secret with its orders; the disk owns that and the pod, so that all of it goes with the disk.
 */
export function createKubeMachines(deps: KubeMachinesDeps) {
  const { link, objects, names, cloudId } = deps
  const queue = createKeyedQueue()
  const orders = createMachineOrders({ link, objects, cloudId })
  const find = (id: string) => objects.findDisk(INSTANCE_LABEL, id)

  async function podOf({ namespace, claim }: FoundDisk): Promise<V1Pod | null> {
    const pod = await objects.findPod(namespace, claim.metadata?.name ?? '')
    return pod?.metadata?.labels?.[CLOUD_LABEL] === cloudId ? pod : null
  }

  async function mustFind(id: string): Promise<FoundDisk> {
    const disk = await find(id)
    if (!disk || isLeaving(disk)) throw new ComputeError('not_found', `no machine ${id}`)
    return disk
  }

  async function status(id: string): Promise<MachineStatus> {
    return await translated(`looking at ${id}`, async () => {
      const disk = await find(id)
      if (!disk) return { state: 'absent' }
      const pod = await podOf(disk)
      const found = statusOf(pod, notesOf(disk.claim))
      if (found.state !== 'running' || !pod) return found
      const isTold = pod.metadata?.annotations?.[RULE_ANNOTATION] !== undefined
      const [end, drain] = await Promise.all([isTold ? deps.readReport(pod) : null, deps.drainOf(pod)])
      return { ...found, ...(end && { command_end: end }), ...(drain && { host_drain: drain }) }
    })
  }

  /** Changes one machine, one change after the other, unless the caller has given up by then. */
  function change(id: string, doing: string, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    return queue(id, async () => {
      if (signal.aborted) throw new ComputeError('failed', 'the call was given up', { cause: signal.reason })
      await translated(`${doing} ${id}`, work)
    })
  }

  async function create(spec: MachineSpec, signal: AbortSignal): Promise<void> {
    const existing = await find(spec.id)
    if (existing) {
      if (isLeaving(existing)) throw new ComputeError('failed', `${spec.id} is still being removed`)
      const pod = await podOf(existing)
      if (pod && !isOver(pod)) return
      const before = await orders.read(existing)
      await mustHaveVolumes(spec, existing.namespace)
      await growDisk(existing, spec.disk_gb)
      const image = before?.image ?? (await deps.factsOf(spec.image, spec.tenant))
      return write(existing.claim, spec, image)
    }
    const namespace = await deps.namespaces.ensure(spec.tenant)
    const image = await deps.factsOf(spec.image, spec.tenant)
    await mustHaveVolumes(spec, namespace)
    const claim = await objects.apply<V1PersistentVolumeClaim>(
      pathOf('persistentvolumeclaims', namespace, names.machine(spec.id)),
      planDisk(spec, namespace),
      signal,
    )
    await write(claim, spec, image)
  }

  /** What is written down last, so that a machine without it is made anew. */
  async function write(claim: V1PersistentVolumeClaim, spec: MachineSpec, image: ImageFacts): Promise<void> {
    await orders.keep(claim, spec, { ...image, pull_secret: await loginOf(claim, spec, image) })
  }

  /** The login that goes with a machine; where the one that it had has gone with others, that of the last pull. */
  async function loginOf(
    claim: V1PersistentVolumeClaim,
    spec: MachineSpec,
    { pull_secret: before }: ImageFacts,
  ): Promise<string | null> {
    if (before === null || (await deps.ownLogin(claim, before))) return before
    const { pull_secret } = await deps.factsOf(spec.image, spec.tenant)
    if (pull_secret === null || (await deps.ownLogin(claim, pull_secret))) return pull_secret
    throw new ComputeError('failed', 'the login of its image went with another machine')
  }

  function planDisk({ id, disk_gb, image }: MachineSpec, namespace: string) {
    const ownId = ownIdOf(image)
    return {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: {
        name: names.machine(id),
        namespace,
        labels: {
          ...{ [CLOUD_LABEL]: cloudId, [INSTANCE_LABEL]: id },
          // An image does not go while a machine is made from it.
          ...(ownId !== null && { [IMAGE_LABEL]: ownId }),
        },
      },
      spec: {
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: `${disk_gb}Gi` } },
        ...(deps.storageClass !== null && { storageClassName: deps.storageClass }),
      },
    }
  }

  /** A disk grows where its class lets it; it never shrinks. */
  async function growDisk({ namespace, claim }: FoundDisk, gb: number): Promise<void> {
    if (quantity(claim.spec?.resources?.requests?.storage) >= gb * BYTES_PER_GB) return
    await link.json('PATCH', pathOf('persistentvolumeclaims', namespace, claim.metadata?.name ?? ''), {
      contentType: 'application/merge-patch+json',
      body: { spec: { resources: { requests: { storage: `${gb}Gi` } } } },
    })
  }

  async function mustHaveVolumes(
    { volumes = [] }: Pick<MachineSpec, 'volumes'>,
    namespace: string,
  ): Promise<void> {
    for (const { id } of volumes) {
      const found = await objects.findDisk(VOLUME_LABEL, id)
      if (found?.namespace !== namespace) throw new ComputeError('not_found', `no volume ${id}`)
    }
  }

  async function start(id: string, signal: AbortSignal): Promise<void> {
    const disk = await mustFind(id)
    const { namespace, claim } = disk
    const name = claim.metadata?.name ?? ''
    let pod = await podOf(disk)
    if (pod && isOver(pod)) {
      await objects.remove('pods', { namespace, name, uid: pod.metadata?.uid }, { signal })
      pod = null
    }
    const kept = await orders.read(disk)
    if (!kept) throw new ComputeError('failed', `what ${id} is to be was never written down; make it anew`)
    const isLaid = notesOf(claim).isLaid
    if (!pod) {
      await mustHaveVolumes(kept.spec, namespace)
      deps.admit()
      const plan = planPod({
        terms: deps.terms,
        orders: kept,
        namespace,
        isLaid,
        gpuName: gpuNameOf(kept.spec.gpu_uuids),
        owner: ownerOf(claim),
      })
      pod = await applyPod(namespace, name, plan, signal)
    }
    const place = { namespace, name, uid: pod.metadata?.uid }
    try {
      await awaitPod(link, place, {
        until: one => {
          if (laysTooLong(one, Date.now()))
            throw new ComputeError('failed', `laying the home of ${id} does not end`)
          return runsSince(one) !== null || isOver(one)
        },
        hadLogin: kept.image.pull_secret !== null,
        signal,
        timeoutMs: START_TIMEOUT_MS,
        ...(deps.placePatienceMs !== undefined && { placePatienceMs: deps.placePatienceMs }),
      })
    } catch (error) {
      // What would come up later by itself is not left behind, unless the API server is away: the next call goes on then.
      await objects.remove('pods', place, { graceS: 0 }).catch(() => undefined)
      throw error
    }
    await objects.annotate(disk, {
      [RUNS_ANNOTATION]: place.uid ?? '',
      ...(!isLaid && { [LAID_ANNOTATION]: 'yes' }),
    })
  }

  /** Makes the pod; another gateway that was quicker with another plan has made one, too, which is then waited for. */
  async function applyPod(
    namespace: string,
    name: string,
    plan: unknown,
    signal: AbortSignal,
  ): Promise<V1Pod> {
    const path = pathOf('pods', namespace, name)
    try {
      return await objects.apply<V1Pod>(path, plan, signal)
    } catch (error) {
      const isOther = error instanceof KubeRefusal && error.status === STATUS_UNPROCESSABLE
      const found = isOther ? await objects.findPod(namespace, name) : null
      if (!found) throw error
      return found
    }
  }

  /** What the kubelet says of the first process: a program in there can be slow, or lie, as its customer likes. */
  async function probe(id: string): Promise<void> {
    await running(id)
  }

  /** The pod of a machine that runs. Fails with `not_found` or `not_running`. */
  async function running(id: string): Promise<ReachedPod & { found: V1Pod }> {
    const disk = await mustFind(id)
    const pod = await podOf(disk)
    if (!pod || statusOf(pod, notesOf(disk.claim)).state !== 'running') {
      throw new ComputeError('not_running', `${id} does not run`)
    }
    return {
      namespace: disk.namespace,
      pod: pod.metadata?.name ?? '',
      uid: pod.metadata?.uid ?? '',
      address: pod.status?.podIP ?? null,
      found: pod,
    }
  }

  async function stop(id: string, graceS: number, signal: AbortSignal): Promise<void> {
    const disk = await find(id)
    if (!disk) return
    const pod = await podOf(disk)
    // One that ended by itself stays, since it says how.
    if (pod && !(isOver(pod) && pod.metadata?.deletionTimestamp === undefined)) {
      const place = { namespace: disk.namespace, name: pod.metadata?.name ?? '', uid: pod.metadata?.uid }
      await objects.remove('pods', place, { graceS, signal })
    }
    if (notesOf(disk.claim).isToRun) await objects.annotate(disk, { [RUNS_ANNOTATION]: '' })
  }

  async function remove(id: string): Promise<void> {
    const disk = await find(id)
    if (!disk) return
    const place = { namespace: disk.namespace, name: disk.claim.metadata?.name ?? '' }
    // The pod first: no disk goes while something has it mounted.
    await objects.remove('pods', place, { graceS: 0 })
    await objects.remove('secrets', place)
    await objects.remove('persistentvolumeclaims', { ...place, uid: disk.claim.metadata?.uid })
  }

  async function list(): Promise<MachineListing[]> {
    const [disks, pods] = await translated('listing machines', () =>
      Promise.all([objects.listDisks(INSTANCE_LABEL), objects.listPods(INSTANCE_LABEL)]),
    )
    const byId = new Map(pods.map(pod => [pod.metadata?.labels?.[INSTANCE_LABEL], pod]))
    return disks.flatMap(claim => {
      const id = claim.metadata?.labels?.[INSTANCE_LABEL]
      if (id === undefined) return []
      const pod = byId.get(id) ?? null
      return [{ id, state: stateOf(pod, claim) }]
    })
  }

  const machines: Machines = {
    create: async (spec, signal) => {
      checkSpec(spec)
      await change(spec.id, 'creating', signal, () => create(spec, signal))
    },
    start: (id, signal) => change(id, 'starting', signal, () => start(id, signal)),
    wait_to_begin: false,
    probe: id => translated(`looking at ${id}`, () => probe(id)),
    begin: id => translated(`looking at ${id}`, () => probe(id)),
    stop: (id, signal, options) =>
      change(id, 'stopping', signal, () => stop(id, options?.at_once ? 0 : STOP_GRACE_S, signal)),
    remove: (id, signal) => change(id, 'removing', signal, () => remove(id)),
    list,
  }
  return { machines, status, running, find: mustFind, orders: orders.read }
}

const isLeaving = ({ claim }: FoundDisk) => claim.metadata?.deletionTimestamp !== undefined

function stateOf(pod: V1Pod | null, claim: V1PersistentVolumeClaim): MachineListing['state'] {
  try {
    const { state } = statusOf(pod, notesOf(claim))
    return state === 'absent' ? 'created' : state
  } catch {
    // Nobody knows; it ran when something was last heard of it.
    return 'running'
  }
}

function checkSpec(spec: MachineSpec): void {
  if (!MACHINE_ID_PATTERN.test(spec.id)) throw new ComputeError('unsupported', `not a machine id: ${spec.id}`)
  if (!HOSTNAME_PATTERN.test(spec.hostname)) {
    throw new ComputeError('unsupported', `not a hostname: ${spec.hostname}`)
  }
  checkMounts(spec.volumes ?? [])
}
