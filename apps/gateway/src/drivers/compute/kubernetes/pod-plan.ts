import { MAIN_SCRIPT, REPORT_PATH, UNNOTICED } from '../main-program.ts'
import type { MachineSpec } from '../port/machines.ts'
import type { RegistryTerms } from '../port/registry-access.ts'
import { GPU_RESOURCE, GPU_TOLERATION, isOfGpuRuntime, WITHOUT_GPUS } from './gpu-environment.ts'
import {
  CLOUD_LABEL,
  GPUS_ANNOTATION,
  INSTANCE_LABEL,
  type KubeNames,
  RULE_ANNOTATION,
} from './kube-names.ts'

/** What a machine is made from, as its registry or the operator told when it was first made. */
export interface ImageFacts {
  reference: string
  is_pulled: boolean
  entrypoint: string[]
  command: string[]
  /** What lives on its disk. */
  home: string
  /** Whether its user is another one than root, who must be let write there. */
  is_user: boolean
  /** The secret that holds its registry's login; null for none. */
  pull_secret: string | null
  /** How its registry is asked by the gateway, beside that login; left out where nobody knew it yet, as of nodes' own images. */
  registry?: RegistryWays | undefined
}

/** How a registry is asked, as `RegistryTerms` has it, without a login. */
export type RegistryWays = Omit<RegistryTerms, 'login'>

/** What is kept of a machine that does not run. */
export interface MachineOrders {
  spec: Omit<MachineSpec, 'image' | 'env' | 'ssh_access' | 'ssh_keys'>
  /** Names of its environment; the values are keys of the same secret. */
  env: string[]
  image: ImageFacts
}

/** What the cluster's operator says of all machines. */
export interface PodTerms {
  cloudId: string
  names: KubeNames
  /** A runtime class for machines; null for the cluster's own. */
  runtimeClass: string | null
  /** Null: as the cluster has it for pods that say nothing, so that machines push out nobody. */
  priorityClass: string | null
  /** Users of their own for each pod, where nodes can give them out. */
  userNamespaces: boolean
  /** The label by which nodes name their GPUs. */
  gpuLabel: string
  /** What nodes that take machines must be labelled with. */
  nodeSelector: Readonly<Record<string, string>>
}

/** How long a machine's processes have to end in good order. */
export const STOP_GRACE_S = 3
/** A node that does not answer may come back; after this its pods are given up. */
const NODE_PATIENCE_S = 300
const SHM_SHARE = 2
const MACHINE = 'machine'
const DISK = 'disk'

/** Of root's rights, those that package managers and servers need. */
const RIGHTS_KEPT = [
  ...['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL'],
  ...['NET_BIND_SERVICE', 'SETGID', 'SETUID', 'SYS_CHROOT'],
]

/**
 * The first process: it has the main program as its child, reaps whatever is left to it, and ends with it. How a command ended
 * that its machine ends with is told to the kubelet by its own file.
 */
const FIRST_SCRIPT = `
main=$1; shift
/bin/sh -c "$main" berth "$@" &
child=$!
trap 'kill -TERM $child 2>/dev/null' TERM INT
while :; do wait $child; code=$?; kill -0 $child 2>/dev/null || break; done
f=${REPORT_PATH}
[ -f $f ] && [ ! -L $f ] && read -r said < $f && echo "$said" > /dev/termination-log
exit $code
`

/**
 * Lays what the image has in the home onto a new disk; on one that holds anything already it would undo what is there, unless that
 * is the half of it from a try that was given up.
 */
const LAY_SCRIPT = `
half=/berth-disk/.berth-half
[ -e $half ] || for f in /berth-disk/* /berth-disk/.[!.]*; do [ -e "$f" ] && exit 0; done
: > $half; cp -a "$1/." /berth-disk/ 2>/dev/null; rm -f $half; exit 0
`

/**
 * The pod of a machine. Environment is in its secret, so that whoever may look at pods reads none of it.
 * @param options.isLaid What the image has in the home lies on the disk.
 * @param options.gpuName The label's value of nodes that have its GPUs; null for any.
 * @param options.owner The disk's own reference: with it goes the pod.
 */
export function planPod(options: {
  terms: PodTerms
  orders: MachineOrders
  namespace: string
  isLaid: boolean
  gpuName: string | null
  owner: Record<string, unknown>
}): Record<string, unknown> {
  const { terms, orders, namespace, owner } = options
  const { spec, image } = orders
  const { cloudId, names } = terms
  const name = names.machine(spec.id)
  const gpus = spec.gpu_uuids.length
  const rule = spec.command ? (spec.on_command_end ?? 'keep') : UNNOTICED
  const selector = {
    ...terms.nodeSelector,
    ...(gpus > 0 && options.gpuName !== null && { [terms.gpuLabel]: options.gpuName }),
  }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      labels: { [CLOUD_LABEL]: cloudId, [INSTANCE_LABEL]: spec.id },
      annotations: {
        [GPUS_ANNOTATION]: spec.gpu_uuids.join(','),
        ...(rule !== UNNOTICED && { [RULE_ANNOTATION]: rule }),
      },
      ownerReferences: [owner],
    },
    spec: {
      restartPolicy: 'Never',
      hostname: spec.hostname.toLowerCase(),
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: STOP_GRACE_S,
      ...(terms.userNamespaces && { hostUsers: false }),
      ...(terms.runtimeClass !== null && { runtimeClassName: terms.runtimeClass }),
      ...(terms.priorityClass !== null && { priorityClassName: terms.priorityClass }),
      ...(Object.keys(selector).length > 0 && { nodeSelector: selector }),
      tolerations: [...AWAY, ...(gpus > 0 ? [GPU_TOLERATION] : [])],
      ...(image.pull_secret !== null && { imagePullSecrets: [{ name: image.pull_secret }] }),
      securityContext: {
        seccompProfile: { type: 'RuntimeDefault' },
        ...(image.is_user && { fsGroup: 100 }),
      },
      ...(!options.isLaid && { initContainers: [layingContainer(orders)] }),
      containers: [mainContainer(name, orders, rule)],
      volumes: [
        { name: DISK, persistentVolumeClaim: { claimName: name } },
        // PyTorch's loaders exchange tensors through shared memory; 64 MB are not enough for them.
        {
          name: 'shm',
          emptyDir: { medium: 'Memory', sizeLimit: `${Math.floor(spec.memory_mb / SHM_SHARE)}Mi` },
        },
        ...(spec.volumes ?? []).map(({ id, read_only }) => ({
          name: names.volume(id),
          persistentVolumeClaim: { claimName: names.volume(id), ...(read_only && { readOnly: true }) },
        })),
      ],
    },
  }

  function mainContainer(secret: string, { env }: MachineOrders, rule: string) {
    return {
      name: MACHINE,
      ...fromImage(image),
      command: ['/bin/sh', '-c', FIRST_SCRIPT, 'berth'].map(literal),
      args: [MAIN_SCRIPT, rule, ...image.entrypoint, ...(spec.command ?? image.command)].map(literal),
      env: [
        ...(gpus === 0 ? WITHOUT_GPUS : []),
        ...env.flatMap((name, at) =>
          isOfGpuRuntime(name)
            ? []
            : [{ name, valueFrom: { secretKeyRef: { name: secret, key: envKey(at) } } }],
        ),
      ],
      resources: resourcesOf(spec),
      securityContext: SECURITY,
      volumeMounts: [
        { name: DISK, mountPath: image.home, subPath: 'home' },
        { name: 'shm', mountPath: '/dev/shm' },
        ...(spec.volumes ?? []).map(({ id, path, read_only }) => ({
          name: names.volume(id),
          mountPath: path,
          ...(read_only && { readOnly: true }),
        })),
      ],
    }
  }
}

/** The key of a value of the environment in a machine's secret. */
export const envKey = (at: number) => `env-${at}`

/** The name of a machine's container in its pod. */
export const MACHINE_CONTAINER = MACHINE

/** What each container of ours is held by, but for the node's own. */
export const SECURITY = {
  allowPrivilegeEscalation: false,
  privileged: false,
  capabilities: { drop: ['ALL'], add: RIGHTS_KEPT },
}

/** The same amount asked for and allowed: what a machine was sold is there, and no more. */
function resourcesOf({ cpu_count, memory_mb, disk_gb, gpu_uuids }: MachineOrders['spec']) {
  const held = {
    cpu: `${Math.max(1, Math.round(cpu_count * 1_000))}m`,
    memory: `${memory_mb}Mi`,
    ...(gpu_uuids.length > 0 && { [GPU_RESOURCE]: String(gpu_uuids.length) }),
  }
  // What it writes beside its disk is the node's: bounded, but not kept for it.
  return {
    requests: { ...held, 'ephemeral-storage': '64Mi' },
    limits: { ...held, 'ephemeral-storage': `${disk_gb}Gi` },
  }
}

function layingContainer({ image, spec }: MachineOrders) {
  return {
    name: 'lay',
    ...fromImage(image),
    command: ['/bin/sh', '-c', LAY_SCRIPT, 'berth', image.home].map(literal),
    env: WITHOUT_GPUS,
    resources: resourcesOf({ ...spec, gpu_uuids: [] }),
    securityContext: SECURITY,
    volumeMounts: [{ name: DISK, mountPath: '/berth-disk', subPath: 'home' }],
  }
}

function fromImage({ reference, is_pulled, pull_secret }: ImageFacts) {
  // What a login was needed for is asked for with it each time, whoever had it pulled before.
  const policy = !is_pulled ? 'Never' : pull_secret === null ? 'IfNotPresent' : 'Always'
  return { image: reference, imagePullPolicy: policy }
}

const AWAY = ['not-ready', 'unreachable'].map(what => ({
  key: `node.kubernetes.io/${what}`,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds: NODE_PATIENCE_S,
}))

/** Kubernetes puts values in the place of `$(NAME)`, and takes one of two dollars away. */
const literal = (word: string) => word.replaceAll('$', '$$$$')
