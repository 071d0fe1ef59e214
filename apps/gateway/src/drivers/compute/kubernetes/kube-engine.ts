import type { Logger } from 'pino'
import { consoleOver } from '../console-over.ts'
import type { EgressPolicy } from '../docker/egress-guard.ts'
import { createKeeperClient } from '../docker/keeper-client.ts'
import { MACHINE_ID_PATTERN } from '../machine-id.ts'
import { ComputeError, EngineReplaced } from '../port/compute-error.ts'
import type { Engine } from '../port/engine.ts'
import { createDrainLook } from './drain-look.ts'
import { createGpuMetrics, type GpuExporter } from './gpu-metrics.ts'
import { capabilitiesOf } from './kube-capabilities.ts'
import { createKubeDatagrams } from './kube-datagrams.ts'
import { runExec } from './kube-exec.ts'
import { createKubeImages, PULL_TIMEOUT_MS } from './kube-images.ts'
import { createKubeLink, type KubePlace, orNull, translated } from './kube-link.ts'
import { createKubeLogs } from './kube-logs.ts'
import { createKubeMachines } from './kube-machines.ts'
import { createNames, digestOf, INSTANCE_LABEL, SNAPSHOTS_API } from './kube-names.ts'
import { createKubeNodes } from './kube-nodes.ts'
import { createKubeObjects } from './kube-objects.ts'
import { createKubeOwnImages } from './kube-own-images.ts'
import { createKubePorts } from './kube-ports.ts'
import { runProgram } from './kube-program.ts'
import { createReportReader } from './kube-report.ts'
import { createKubeSampler } from './kube-sampler.ts'
import { createKubeVolumes } from './kube-volumes.ts'
import type { TenantQuota } from './namespace-plan.ts'
import type { NodeRegistry } from './node-registry.ts'
import { createTenantNamespaces } from './tenant-namespaces.ts'
import { watchPods } from './watch-pods.ts'

/** What another gateway has left running when it was killed goes no later. */
const SWEEP_MS = 60_000

/** What an operator says of a cluster, beside where it is. */
export interface ClusterTerms {
  storageClass: string | null
  volumeClass: string | null
  /** Whether volumes are for machines on several nodes. */
  volumesShared: boolean
  /** By which snapshots of volumes are made; null where the operator names none. */
  snapshotClass: string | null
  sizesEnforced: boolean
  runtimeClass: string | null
  priorityClass: string | null
  userNamespaces: boolean
  gpuLabel: string
  nodeSelector: Readonly<Record<string, string>>
  policiesHold: boolean
  /** Whether the gateway is in the pods' network. */
  reachesPods: boolean
  gatewayNamespace: string | null
  /** Whether customers name images of any registry. */
  customerImages: boolean
  helperImage: string
  quota: TenantQuota
  /** What tells what GPUs do; null where nobody named it. */
  gpuExporter: GpuExporter | null
}

export interface KubeDeps {
  place: KubePlace
  terms: ClusterTerms
  /** Whose machines these are; another cloud in the same cluster has another. `[a-z0-9-]`. */
  cloudId: string
  /** What machines may reach; null leaves everything open to them that the cluster does. */
  egress: EgressPolicy | null
  log: Logger
  /** How long a machine may wait for a node that takes it. */
  placePatienceMs?: number
  /** Where images that are made of machines lie for nodes; left out: none are made. */
  registry?: NodeRegistry | null
}

/**
 * Opens a Kubernetes cluster: each machine is a pod with a disk of its own, found by labels, so that nothing is kept here.
 * Fails with `engine_unavailable` when the API server does not answer. Machines go on running when the gateway ends.
 */
export async function createKubeEngine(deps: KubeDeps): Promise<Engine> {
  const { cloudId, terms, egress } = deps
  const log = deps.log.child({ driver: 'kubernetes' })
  const link = await createKubeLink(deps.place)
  const id = await idOf(link)
  const names = createNames(cloudId)
  const objects = createKubeObjects({ link, names, cloudId })
  const servesSnapshots = terms.snapshotClass !== null && (await serves(link, SNAPSHOTS_API))
  const sweep = () =>
    void objects.sweepPods(PULL_TIMEOUT_MS).catch(error => log.debug({ err: error }, 'pods were not swept'))
  sweep()
  const sweeping = setInterval(sweep, SWEEP_MS).unref()
  const nodes = createKubeNodes({ link, objects, gpuLabel: terms.gpuLabel, selector: terms.nodeSelector })
  const namespaces = createTenantNamespaces({
    link,
    objects,
    names,
    cloudId,
    quota: terms.quota,
    opened: egress === null ? ['0.0.0.0/0', '::/0'] : egress.opened,
    gatewayNamespace: terms.gatewayNamespace,
    log,
  })
  const { images, factsOf, ownLogin } = createKubeImages({
    ...{ link, objects, names, cloudId, nodes, namespaces },
    customerImages: terms.customerImages,
    registry: deps.registry ?? null,
    makeOwn: parts =>
      createKubeOwnImages({
        ...{ ...parts, link, objects, place: deps.place },
        key: digestOf(`${id}/${cloudId}`),
        machines: {
          find: machine => find(machine),
          orders: disk => orders(disk),
          running: machine => running(machine),
        },
      }),
  })
  const keeper = createKeeperClient({
    engine: `${id}/${cloudId}`,
    place: { kind: 'kubernetes', cluster: deps.place },
  })
  const admit = () => {
    if (egress?.required !== true || terms.policiesHold) return
    throw new ComputeError(
      'failed',
      'nobody said that the cluster’s network holds policies: see network_policies in its description',
    )
  }
  const { machines, status, running, find, orders } = createKubeMachines({
    link,
    objects,
    names,
    cloudId,
    terms: { ...terms, cloudId, names },
    storageClass: terms.storageClass,
    namespaces,
    factsOf,
    ownLogin,
    readReport: createReportReader(link).readReport,
    drainOf: createDrainLook({ link, nodes, log }),
    admit,
    placePatienceMs: deps.placePatienceMs,
    log,
  })
  const ports = createKubePorts(link, { reaches_pods: terms.reachesPods })
  const sampler = createKubeSampler(link, terms.gpuExporter && createGpuMetrics(link, terms.gpuExporter))
  const logs = createKubeLogs(link)

  /** Does one thing with a machine that runs. Fails with `not_found` or `not_running`. */
  const talk = <T>(
    machine: string,
    doing: string,
    work: (pod: Awaited<ReturnType<typeof running>>) => Promise<T>,
  ) => translated(`${doing} in ${machine}`, async () => work(await running(machine)))

  /** The same where it need not run. */
  const ofPod = <T>(
    machine: string,
    doing: string,
    work: (pod: { namespace: string; pod: string }) => Promise<T>,
  ) =>
    translated(`${doing} of ${machine}`, async () => {
      const disk = await find(machine)
      return work({ namespace: disk.namespace, pod: names.machine(machine) })
    })

  const watchers = new Set<() => void>()
  const watch = (onChange: (id: string) => void, onOpened = () => {}) => {
    const stop = watchPods({
      link,
      selector: names.selector(INSTANCE_LABEL),
      onChange,
      onOpened,
      listIds: async () => (await machines.list()).map(machine => machine.id),
      log,
    })
    watchers.add(stop)
    return () => {
      watchers.delete(stop)
      stop()
    }
  }
  const datagrams = createKubeDatagrams({
    running: machine => talk(machine, 'opening a way for datagrams', async pod => pod),
    watch,
  })
  return {
    id,
    driver: 'kubernetes',
    kinds: ['POD'],
    capabilities: capabilitiesOf({ ...terms, disksBounded: terms.sizesEnforced }),
    size: async () => {
      const [found, size] = await Promise.all([idOf(link), translated('asking for nodes', nodes.size)])
      if (found !== id) throw new EngineReplaced(id, found)
      return size
    },
    machines,
    images,
    volumes: createKubeVolumes({
      link,
      objects,
      names,
      cloudId,
      namespaces,
      storageClass: terms.volumeClass,
      isShared: terms.volumesShared,
      isBounded: terms.sizesEnforced,
      helperImage: terms.helperImage,
      snapshotClass: terms.snapshotClass,
      servesSnapshots,
    }),
    network: {
      connect: (machine, port) =>
        talk(machine, `connecting to port ${port}`, pod => ports.connect(pod, port)),
      udp: terms.reachesPods
        ? { open: datagrams.open }
        : { lacks: 'Kubernetes passes streams to the ports of a pod from outside, and no datagrams.' },
    },
    console: {
      shells_live: 'beside_gateway',
      ...consoleOver(async (machine, request) => {
        if (!MACHINE_ID_PATTERN.test(machine)) throw new ComputeError('not_found', `no machine ${machine}`)
        if (request.op === 'attach') {
          const { namespace, pod } = await talk(machine, 'opening a terminal', async found => found)
          return keeper.ask({ ...request, machine: `${namespace}.${pod}` })
        }
        const { namespace } = await find(machine)
        return keeper.askIfThere({ ...request, machine: `${namespace}.${names.machine(machine)}` })
      }),
      exec: (machine, argv, options) =>
        talk(machine, 'running a command', pod => runExec(link, pod, argv, options)),
      programs: {
        run: (machine, options) => talk(machine, 'running a program', pod => runProgram(link, pod, options)),
      },
      serial: { lacks: 'A pod boots no system of its own, so there is no serial line.' },
    },
    observation: {
      status,
      watch: onChange => watch(onChange),
      sample: machine => talk(machine, 'measuring', sampler.sample),
      oom_kills: { lacks: 'Kubernetes does not count the programs that a node ended for want of memory.' },
      logs: (machine, { lines_max }) => ofPod(machine, 'reading the log', pod => logs.read(pod, lines_max)),
      followLogs: (machine, { lines_max }) =>
        ofPod(machine, 'following the log', pod => logs.follow(pod, lines_max)),
      keptLog: machine => ofPod(machine, 'reading the whole log', logs.kept),
      guest: { lacks: 'A pod boots no system of its own that could say anything.' },
    },
    shutdown: async () => {
      clearInterval(sweeping)
      datagrams.close()
      for (const stop of watchers) stop()
      watchers.clear()
      link.close()
      return []
    },
  }
}

/** An engine's id, as the port knows it: a cluster is known by the uid of a namespace that it has for as long as it is one. */
async function idOf(link: Awaited<ReturnType<typeof createKubeLink>>): Promise<string> {
  return await translated('asking a cluster who it is', async () => {
    const { metadata } = await link.json<{ metadata: { uid: string } }>(
      'GET',
      '/api/v1/namespaces/kube-system',
    )
    return `kubernetes:${metadata.uid}`
  })
}

/** Whether a cluster has a group of resources that not all have. */
async function serves(link: Awaited<ReturnType<typeof createKubeLink>>, api: string): Promise<boolean> {
  const found = translated(`asking a cluster for ${api}`, () => orNull(link.json('GET', `/apis/${api}`)))
  return (await found) !== null
}
