import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { closeSync, createReadStream, existsSync, mkdtempSync, openSync, writeFileSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import type { V1PersistentVolume, V1PersistentVolumeClaim } from '@kubernetes/client-node'
import { layTestTree } from '../docker/test-image.ts'
import type { ImageRecipe } from '../port/images.ts'
import type { ClusterTerms } from './kube-engine.ts'
import { createKubeLink, type KubeLink, type KubePlace } from './kube-link.ts'
import { createSnapshotter, SNAPSHOT_KINDS } from './snapshotter-fixture.ts'

const run = promisify(execFile)
const PEERS = process.env.PEERS ?? join(homedir(), '.cache', 'peers')
export const BIN = join(PEERS, 'bin')
const KUBE = join(BIN, 'kube')
/** What the processes of the cluster of this computer have. */
export const RUN = join(PEERS, 'run')
export const CONTAINERD = join(RUN, 'real', 'c.sock')
/** The first one, and the only one unless a test adds another. */
export const NODE = 'localhost'
/** An administrator's kubeconfig of a cluster with a node that runs pods. */
export const ADMIN = process.env.BERTH_TEST_KUBECONFIG ?? join(RUN, 'admin.kubeconfig')
const RBAC = join(import.meta.dirname, '../../../../../../deploy/kubernetes/rbac.yaml')
/** Of this process alone: another one that tests has its own. */
const CLASS = `berth-test-${randomBytes(4).toString('hex')}`
const PROVISION_MS = 150
const START_TRIES = 3
const START_TIMEOUT_MS = 70_000
const GPUS = 'NVIDIA-H100-80GB-HBM3'

/** By which one is started where CI finds none: a control plane and a node, for as long as the tests that need it. */
const STARTER = join(import.meta.dirname, '../../../../../../../shared/peers/kubernetes')

/** Whether there is a cluster to test with, or can be. */
export const clusterProbe: { ok: true } | { ok: false; why: string } = (() => {
  if (!answers() && mayStart()) return { ok: true }
  if (!existsSync(ADMIN)) return { ok: false, why: `no kubeconfig at ${ADMIN}; set BERTH_TEST_KUBECONFIG` }
  if (!existsSync(KUBE) || !existsSync(CONTAINERD)) {
    return {
      ok: false,
      why: 'its node’s containerd is not on this computer, so it cannot be given the test image',
    }
  }
  return answers() ? { ok: true } : { ok: false, why: `the cluster of ${ADMIN} does not answer` }
})()

function answers(): boolean {
  if (!existsSync(ADMIN) || !existsSync(KUBE)) return false
  const asked = ['kubectl', '--kubeconfig', ADMIN, 'get', 'nodes', '-o', 'name', '--request-timeout=5s']
  const { status, stdout } = spawnSync(KUBE, asked, { encoding: 'utf8' })
  return status === 0 && stdout.trim() !== ''
}

function mayStart(): boolean {
  if (process.env.CI !== 'true' || process.getuid?.() !== 0 || process.env.BERTH_TEST_KUBECONFIG) return false
  return existsSync(STARTER) && existsSync('/usr/bin/containerd') && existsSync('/usr/lib/cni/ptp')
}

/** As the administrator. */
export async function kubectl(...args: string[]): Promise<string> {
  const { stdout } = await run(KUBE, ['kubectl', '--kubeconfig', ADMIN, ...args])
  return stdout
}

export interface TestCluster {
  /** With the rights that the manifest gives, and no others. */
  place: KubePlace
  file: string
  /** As the administrator. */
  admin: KubeLink
  /** Where the API server listens. */
  server: { host: string; port: number }
  image: ImageRecipe
  reference: string
  terms: ClusterTerms
  /** Removes all that a cloud has in the cluster. */
  removeCloud(cloudId: string): Promise<void>
  close(): Promise<void>
}

/**
 * Makes a cluster ready for machines: the rights of a gateway from their manifest, an image on its node, GPUs with a name, and
 * a class of storage. There is no provisioner in the cluster, so this process is one for as long as it tests: each claim of the
 * class gets a folder of the node's.
 */
export async function openTestCluster(): Promise<TestCluster> {
  const isOurs = !answers()
  if (isOurs) await start()
  const dir = mkdtempSync(join(tmpdir(), 'berth-cluster-'))
  await kubectl('apply', '-f', RBAC)
  // What an earlier version gave stays in a cluster that is not made anew.
  await kubectl('delete', 'clusterrole,clusterrolebinding', 'berth-kubelets', '--ignore-not-found')
  const token = (await kubectl('-n', 'berth', 'create', 'token', 'berth-gateway', '--duration=24h')).trim()
  const file = join(dir, 'kubeconfig')
  const config = JSON.parse(await kubectl('config', 'view', '--raw', '-o', 'json')) as {
    users: unknown[]
    clusters: { cluster: { server: string } }[]
    contexts: { context: { user: string } }[]
  }
  config.users = [{ name: 'gateway', user: { token } }]
  for (const { context } of config.contexts) context.user = 'gateway'
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 })
  const there = new URL(config.clusters[0]?.cluster.server ?? '')
  const reference = await importImage()
  await nameGpus()
  const admin = await createKubeLink({ kind: 'kubeconfig', file: ADMIN, context: null })
  const folder = await mkdtemp(join(tmpdir(), 'berth-claims-'))
  const provisioner = await provision(admin, folder)
  return {
    place: { kind: 'kubeconfig', file, context: null },
    file,
    admin,
    server: { host: there.hostname, port: Number(there.port) },
    reference,
    image: { id: 'test', parts: { kubernetes: { image: reference, pull: 'never', command: ['bash'] } } },
    terms: {
      storageClass: CLASS,
      volumeClass: CLASS,
      volumesShared: true,
      snapshotClass: CLASS,
      sizesEnforced: false,
      runtimeClass: null,
      priorityClass: null,
      userNamespaces: false,
      gpuLabel: 'nvidia.com/gpu.product',
      nodeSelector: {},
      policiesHold: false,
      reachesPods: false,
      gatewayNamespace: null,
      customerImages: true,
      helperImage: reference,
      quota: {},
      gpuExporter: null,
    },
    async removeCloud(cloudId) {
      await kubectl('delete', 'namespaces', '-l', `berth.cloud=${cloudId}`, '--wait=true', '--timeout=60s')
    },
    async close() {
      await provisioner.stop()
      admin.close()
      await rm(folder, { recursive: true, force: true })
      await rm(dir, { recursive: true, force: true })
      if (isOurs) await run(STARTER, ['stop'])
    },
  }
}

/** Says of its nodes what GPUs they have, as the GPU's own operator would. */
export async function nameGpus(): Promise<void> {
  const labels = [`nvidia.com/gpu.product=${GPUS}`, 'nvidia.com/gpu.memory=81559']
  await kubectl('label', 'nodes', '--all', '--overwrite', ...labels)
}

/**
 * Kills a part of the cluster of this computer.
 * @returns Starts it again as it was.
 */
export async function killPart(name: 'kubelet' | 'kube-apiserver'): Promise<() => Promise<void>> {
  const pidOf = async (one: string) => Number(await readFile(join(RUN, `${one}.pid`), 'utf8'))
  const pid = await pidOf(name)
  const [file = '', ...words] = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0').slice(0, -1)
  process.kill(pid, 'SIGKILL')
  return async () => {
    // A kubelet sees the mounts of what runs its pods.
    const there = ['sh', '-c', 'cd "$0" && exec "$@"', RUN, file, ...words]
    const enter = ['-t', String(await pidOf('containerd')), '-m', '--', ...there]
    const [program, args] = name === 'kubelet' ? ['nsenter', enter] : [file, words]
    const log = openSync(join(RUN, 'log', `${name}.log`), 'a')
    const child = spawn(program, args, { cwd: RUN, detached: true, stdio: ['ignore', log, log] })
    closeSync(log)
    child.unref()
    await writeFile(join(RUN, `${name}.pid`), `${child.pid}\n`)
  }
}

/** Has the node that came back take machines again. */
export async function awaitNode(): Promise<void> {
  await kubectl('wait', '--for=condition=Ready', 'nodes', '--all', '--timeout=120s')
  await nameGpus()
  const gpus = JSON.stringify({ 'nvidia.com/gpu': '8' })
  const patch = `{"status":{"capacity":${gpus},"allocatable":${gpus}}}`
  await kubectl('patch', 'node', NODE, '--subresource=status', '--type=merge', '-p', patch)
}

/** Starts a control plane and its node. One of its parts gives up where the API server takes long, so it is tried again. */
async function start(): Promise<void> {
  for (let left = START_TRIES; ; left--) {
    try {
      await run(STARTER, ['start'], { timeout: START_TIMEOUT_MS })
      await run(STARTER, ['node'], { timeout: START_TIMEOUT_MS })
      return
    } catch (error) {
      await run(STARTER, ['stop'])
      if (left <= 1) throw error
    }
  }
}

/** What an image says beside its files, in the words of OCI. */
interface ImageWords {
  Env: string[]
  Cmd?: string[]
  Entrypoint?: string[]
  WorkingDir: string
  User?: string
}

/** Gives the node an image of this computer's own programs. @returns Its reference. */
function importImage(): Promise<string> {
  return importTree('berth-test', tree => layTestTree(tree, ['busybox']), {
    Env: ['PATH=/usr/local/bin:/usr/bin:/bin'],
    Cmd: ['bash'],
    WorkingDir: '/root',
  })
}

/**
 * Gives the node an image. The same files are the same image.
 * @param lay Lays its files into an empty folder. All of them are root's.
 * @returns Its reference.
 */
export async function importTree(
  name: string,
  lay: (tree: string) => Promise<void>,
  words: ImageWords,
): Promise<string> {
  const tree = await mkdtemp(join(tmpdir(), 'berth-tree-'))
  const out = await mkdtemp(join(tmpdir(), 'berth-image-'))
  try {
    await lay(tree)
    const layer = join(out, 'layer.tar')
    await run('tar', ['-C', tree, '--owner=0', '--group=0', '--mtime=@0', '--sort=name', '-cf', layer, '.'])
    const hash = createHash('sha256')
    await pipeline(createReadStream(layer), hash)
    const digest = hash.digest('hex')
    const reference = `peers.local/${name}:${digest.slice(0, 12)}`
    const ctr = (...args: string[]) => run('ctr', ['-a', CONTAINERD, '-n', 'k8s.io', ...args])
    const { stdout } = await ctr('images', 'ls', '-q')
    if (stdout.split('\n').includes(reference)) return reference
    const config = JSON.stringify({
      architecture: process.arch === 'x64' ? 'amd64' : 'arm64',
      os: 'linux',
      config: words,
      rootfs: { type: 'layers', diff_ids: [`sha256:${digest}`] },
    })
    await writeFile(join(out, 'config.json'), config)
    const manifest = [{ Config: 'config.json', RepoTags: [reference], Layers: ['layer.tar'] }]
    await writeFile(join(out, 'manifest.json'), JSON.stringify(manifest))
    const archive = join(out, 'image.tar')
    await run('tar', ['-C', out, '-cf', archive, 'manifest.json', 'config.json', 'layer.tar'])
    await ctr('images', 'import', archive)
    return reference
  } finally {
    await rm(tree, { recursive: true, force: true })
    await rm(out, { recursive: true, force: true })
  }
}

/** Makes a volume for each claim of the test's class, and takes it away with the claim. */
async function provision(admin: KubeLink, folder: string) {
  execFileSync(KUBE, ['kubectl', '--kubeconfig', ADMIN, 'apply', '-f', '-'], {
    input: JSON.stringify({
      ...{ apiVersion: 'v1', kind: 'List' },
      items: [
        {
          apiVersion: 'storage.k8s.io/v1',
          kind: 'StorageClass',
          metadata: { name: CLASS },
          provisioner: 'kubernetes.io/no-provisioner',
          volumeBindingMode: 'Immediate',
          allowVolumeExpansion: true,
        },
        SNAPSHOT_KINDS,
      ],
    }),
  })
  await kubectl('wait', '--for=condition=Established', 'crd', SNAPSHOT_KINDS.metadata.name, '--timeout=30s')
  const snapshotter = createSnapshotter(admin, CLASS, folder)
  const made = new Set<string>()
  let isOver = false

  async function round(): Promise<void> {
    const { items: claims } = await admin.json<{ items: V1PersistentVolumeClaim[] }>(
      'GET',
      '/api/v1/persistentvolumeclaims',
    )
    for (const claim of claims) {
      const { metadata, spec, status } = claim
      const uid = metadata?.uid ?? ''
      if (spec?.storageClassName !== CLASS || status?.phase !== 'Pending' || made.has(uid)) continue
      await mkdir(join(folder, uid), { recursive: true })
      if (!(await snapshotter.fill(claim, join(folder, uid)))) continue
      made.add(uid)
      const volume = {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: `berth-test-${uid}` },
        spec: {
          capacity: spec.resources?.requests,
          accessModes: spec.accessModes,
          storageClassName: CLASS,
          persistentVolumeReclaimPolicy: 'Retain',
          hostPath: { path: join(folder, uid) },
          claimRef: { namespace: metadata?.namespace, name: metadata?.name, uid },
        },
      }
      await admin.json('POST', '/api/v1/persistentvolumes', { body: volume })
    }
    const { items: volumes } = await admin.json<{ items: V1PersistentVolume[] }>(
      'GET',
      '/api/v1/persistentvolumes',
    )
    await snapshotter.round(volumes)
    for (const { metadata, spec, status } of volumes) {
      if (spec?.storageClassName !== CLASS || status?.phase !== 'Released') continue
      await rm(spec.hostPath?.path ?? '', { recursive: true, force: true })
      await admin.json('DELETE', `/api/v1/persistentvolumes/${metadata?.name}`)
    }
  }

  const loop = (async () => {
    while (!isOver) {
      await round().catch(() => undefined)
      await new Promise(resolve => setTimeout(resolve, PROVISION_MS))
    }
    await round().catch(() => undefined)
  })()
  return {
    stop: async () => {
      isOver = true
      await loop
      await admin.json('DELETE', `/apis/storage.k8s.io/v1/storageclasses/${CLASS}`)
    },
  }
}
