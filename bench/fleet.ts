// A gateway over a simulated fleet: how long a deploy takes as the fleet grows, beside the same objects made by hand; how late
// the reconciler looks; what an instance costs the gateway's memory and the cluster's API server. docs/scaling.md has the curve.
//
//   kubernetes start && kubernetes fleet 30        # a control plane, and nodes that KWOK pretends
//   node --expose-gc bench/fleet.ts 20 100 200     # how many instances there are when it is measured
//
// The cluster is that of BERTH_BENCH_KUBECONFIG, and must be nobody's: it gets a class of storage and volumes of it.
import { randomBytes } from 'node:crypto'
import { subscribe } from 'node:diagnostics_channel'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DeployBody } from '@berth/contract/instances'
import { createKubeEngine } from '../apps/gateway/src/drivers/compute/kubernetes/kube-engine.ts'
import { createKubeLink } from '../apps/gateway/src/drivers/compute/kubernetes/kube-link.ts'
import { ComputeError } from '../apps/gateway/src/drivers/compute/port/compute-error.ts'
import { loadCatalogue } from '../apps/gateway/src/platform/config/catalogue.ts'
import { createLog } from '../apps/gateway/src/platform/log.ts'
import { CATALOGUE, startGatewayOver } from './lib/fake-gateway.ts'
import { median, printFigure, quantile } from './lib/figures.ts'

const SIZES = process.argv.slice(2).map(Number)
const KUBECONFIG = process.env.BERTH_BENCH_KUBECONFIG ?? ''
/** Of each customer, as many as one may have. */
const INSTANCES_EACH = 20
/** Deploys that are under way together while the fleet grows. */
const AT_ONCE = 8
/** Deploys one after the other, at each size. */
const PROBES = 20
const STEADY_MS = 60_000
const HEAP_LOOKS = 20
const ASK_MS = 25
const DEPLOY_MS_MAX = 300_000
const GROWTH_AIM = 1.5
const LAG_AIM_MS = 5_000
const MS_PER_HOUR = 3_600_000
const CLASS = `bench-${randomBytes(3).toString('hex')}`
const NAMESPACE = 'default'
const IMAGE = 'bench.local/none:1'
const FORM: DeployBody = {
  name: 'bench',
  kind: 'POD',
  region_code: 'us-west',
  gpu_spec_id: 'h100-sxm',
  gpu_count: 1,
  image_id: 'berth-base',
  image_reference: null,
  registry_credential_id: null,
  billing_type: 'postpay',
  charge_cycle: null,
  auto_renew: true,
  price_micro: null,
  container_disk_gb: 20,
  data_disk_gb: null,
  pod_volume_gb: null,
  pod_volume_path: '/workspace',
  http_ports: [],
  tcp_ports: [],
  udp_ports: [],
  env: {},
  secret_env: [],
  start_command: '',
  on_command_end: 'keep',
  stop_at: null,
  spend_limit_cents: null,
  idle_stop_minutes: null,
  ssh_key_ids: null,
  network_volume: null,
  public_ip: 'shared',
}

if (SIZES.length === 0 || KUBECONFIG === '' || globalThis.gc === undefined)
  throw new Error('BERTH_BENCH_KUBECONFIG=… node --expose-gc bench/fleet.ts <instances> <instances> …')

let apiCalls = 0
subscribe('http.client.request.start', message => {
  const { request } = message as { request: { protocol?: string } }
  if (request.protocol === 'https:') apiCalls += 1
})

const place = { kind: 'kubeconfig' as const, file: KUBECONFIG, context: null }
const admin = await createKubeLink(place)
const log = createLog({ level: 'error', pretty: false })
const cloudId = `b${randomBytes(4).toString('hex')}`
const kube = await createKubeEngine({
  place,
  terms: {
    storageClass: CLASS,
    volumeClass: CLASS,
    volumesShared: true,
    snapshotClass: null,
    sizesEnforced: false,
    runtimeClass: null,
    priorityClass: null,
    userNamespaces: false,
    gpuLabel: 'nvidia.com/gpu.product',
    nodeSelector: {},
    policiesHold: false,
    reachesPods: false,
    gatewayNamespace: null,
    customerImages: false,
    helperImage: 'busybox:1.36',
    quota: {},
    gpuExporter: null,
  },
  cloudId,
  egress: null,
  log,
})
const nothing = new ComputeError('failed', 'machines that are pretended use nothing')
const engine = {
  ...kube,
  // Nobody pretends a metrics API, and programs in pretended pods run on this computer.
  observation: { ...kube.observation, sample: () => Promise.reject(nothing) },
}
const fleet = await startGatewayOver(engine, catalogueOf())
const { gateway, database } = fleet
const curve: { size: number; ours: number[]; bare: number[]; calm: Calm; heap: number }[] = []
const customers = new Map<number, Promise<string>>()
let made = 0

try {
  await gateway.start()
  await admin.json('POST', '/apis/storage.k8s.io/v1/storageclasses', {
    body: {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: CLASS },
      provisioner: 'kubernetes.io/no-provisioner',
      volumeBindingMode: 'Immediate',
    },
  })
  await fitNodes()
  for (const size of SIZES) {
    await grow(size - PROBES)
    const bare: number[] = []
    const ours: number[] = []
    await volumes(2 * PROBES)
    for (let probe = 0; probe < PROBES; probe++) {
      bare.push(await byHand(probe))
      ours.push(await deploy())
    }
    const calm = await steady()
    curve.push({ size: made, ours, bare, calm, heap: await heldBytes() })
    tell()
  }
} finally {
  await fleet.stop()
  await clear()
  admin.close()
}

/** Has nodes say what KWOK's do not: that they have disks, and the image of all machines, so that nothing is pulled there. */
async function fitNodes(): Promise<void> {
  const { items } = await admin.json<{ items: { metadata: { name: string } }[] }>('GET', '/api/v1/nodes')
  const disk = { 'ephemeral-storage': '16Ti' }
  const images = [{ names: [IMAGE], sizeBytes: 1 }]
  for (const { metadata } of items) {
    await admin.json('PATCH', `/api/v1/nodes/${metadata.name}/status`, {
      contentType: 'application/merge-patch+json',
      body: { status: { images, capacity: disk, allocatable: disk } },
    })
  }
}

/** Whatever the fleet takes: as many deploys at once as are worth it. */
async function grow(size: number): Promise<void> {
  await volumes(Math.max(0, size - made))
  const startedAt = performance.now()
  const before = made
  while (made < size) {
    const some = Math.min(AT_ONCE, size - made)
    await Promise.all(Array.from({ length: some }, () => deploy()))
  }
  const perMinute = ((made - before) * 60_000) / (performance.now() - startedAt)
  if (made > before) console.log(`${made} instances run; ${perMinute.toFixed(0)} a minute were deployed`)
}

/** @returns Milliseconds from the call until it runs. */
async function deploy(): Promise<number> {
  made += 1
  const userId = await customer(Math.floor((made - 1) / INSTANCES_EACH))
  const startedAt = performance.now()
  const { instance_id: instanceId } = await gateway.instances.deploy({
    userId,
    idempotencyKey: crypto.randomUUID(),
    body: FORM,
  })
  for (;;) {
    const { status } = await gateway.instances.get({ userId, instanceId })
    if (status === 'running') return performance.now() - startedAt
    if (status === 'error' || performance.now() - startedAt > DEPLOY_MS_MAX)
      throw new Error(`an instance is ${status}`)
    await sleep(ASK_MS)
  }
}

/** The same disk and pod, by nothing but the API. @returns Milliseconds until it runs. */
async function byHand(probe: number): Promise<number> {
  const name = `${CLASS}-${made}-${probe}`
  const startedAt = performance.now()
  const metadata = { name, namespace: NAMESPACE, labels: { bench: CLASS } }
  await admin.json('POST', `/api/v1/namespaces/${NAMESPACE}/persistentvolumeclaims`, {
    body: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec: claimSpec() },
  })
  const path = `/api/v1/namespaces/${NAMESPACE}/pods`
  await admin.json('POST', path, {
    body: {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata,
      spec: {
        containers: [{ name: 'it', image: 'none', resources: { limits: { 'nvidia.com/gpu': '1' } } }],
        volumes: [{ name: 'disk', persistentVolumeClaim: { claimName: name } }],
      },
    },
  })
  for (;;) {
    const { status } = await admin.json<{ status: { phase: string } }>('GET', `${path}/${name}`)
    if (status.phase === 'Running') break
    await sleep(ASK_MS)
  }
  const took = performance.now() - startedAt
  await admin.json('DELETE', `${path}/${name}`, { body: { gracePeriodSeconds: 0 } })
  return took
}

/** What it takes to look after a fleet of which nobody wants anything. */
interface Calm {
  /** How late the latest look was. */
  lagMs: number
  /** Of the API server, for each instance and hour. */
  calls: number
  /** Of one processor, by this process with all that is in it. */
  busy: number
}

async function steady(): Promise<Calm> {
  const cpuBefore = process.cpuUsage()
  const callsBefore = apiCalls
  const startedAt = performance.now()
  let lagMs = 0
  while (performance.now() - startedAt < STEADY_MS) {
    const { rows } = await database.pool.query<{ late: number }>(
      `select coalesce(max(extract(epoch from now() - next_attempt_at)), 0)::float8 * 1000 as late
        from instance where terminated_at is null and lease_until is null`,
    )
    lagMs = Math.max(lagMs, rows[0]?.late ?? 0)
    await sleep(250)
  }
  const tookMs = performance.now() - startedAt
  const { user, system } = process.cpuUsage(cpuBefore)
  const calls = ((apiCalls - callsBefore) * MS_PER_HOUR) / tookMs / made
  return { lagMs, calls, busy: (user + system) / 1_000 / tookMs }
}

/** What is held when nothing is under way: the least of some looks, each behind a collection. */
async function heldBytes(): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let look = 0; look < HEAP_LOOKS; look++) {
    await sleep(ASK_MS)
    globalThis.gc?.()
    least = Math.min(least, process.memoryUsage().heapUsed)
  }
  return least
}

function tell(): void {
  const [first] = curve
  const last = curve.at(-1)
  if (first === undefined || last === undefined) return
  const p = (values: number[], part: number) => quantile(values, part)
  const growth = median(last.ours) / median(first.ours)
  printFigure({
    what: `a deploy beside ${last.size} instances`,
    ours: `p50 ${median(last.ours).toFixed(0)} ms, p99 ${p(last.ours, 0.99).toFixed(0)} ms`,
    bare: `p50 ${median(last.bare).toFixed(0)} ms, p99 ${p(last.bare, 0.99).toFixed(0)} ms`,
    compared: `ratio ${(median(last.ours) / median(last.bare)).toFixed(2)}; ${growth.toFixed(2)} of that beside ${first.size}`,
    aim: { says: `within ${GROWTH_AIM} of the first`, met: growth < GROWTH_AIM },
  })
  printFigure({
    what: `the latest look at ${last.size} that run`,
    ours: `${last.calm.lagMs.toFixed(0)} ms`,
    bare: '0 ms',
    compared: `${last.calm.calls.toFixed(0)} calls of the API server an instance and hour, ${(last.calm.busy * 100).toFixed(0)} % of a processor`,
    aim: { says: `under ${LAG_AIM_MS} ms`, met: last.calm.lagMs < LAG_AIM_MS },
  })
  if (last === first) return
  const each = (last.heap - first.heap) / (last.size - first.size)
  console.log(
    `memory of the gateway's heap for 1,000 instances: ${((each * 1_000) / 2 ** 20).toFixed(1)} MiB`,
  )
}

/** Customers by their number, each made when the first instance of it is. */
function customer(number: number): Promise<string> {
  const known = customers.get(number) ?? newCustomer(number)
  customers.set(number, known)
  return known
}

async function newCustomer(number: number): Promise<string> {
  const { identity, billing } = gateway
  const { userId } = await identity.createVerifiedUser({
    email: `customer-${number}@example.org`,
    displayName: 'bench',
    language: 'en',
  })
  const amountMicro = 10n ** 12n
  const grant = { id: crypto.randomUUID(), userId, amountMicro, kind: 'bonus', reason: 'bench' } as const
  await database.db.transaction(tx => billing.grantCredit(tx, grant))
  return userId
}

/** So many more for claims to be bound to. */
async function volumes(count: number): Promise<void> {
  for (let at = 0; at < count; at++) {
    await admin.json('POST', '/api/v1/persistentvolumes', {
      body: {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: `${CLASS}-${randomBytes(5).toString('hex')}`, labels: { bench: CLASS } },
        spec: {
          capacity: { storage: '1Ti' },
          accessModes: ['ReadWriteOnce'],
          storageClassName: CLASS,
          persistentVolumeReclaimPolicy: 'Retain',
          hostPath: { path: '/nowhere' },
        },
      },
    })
  }
}

function claimSpec() {
  return {
    accessModes: ['ReadWriteOnce'],
    storageClassName: CLASS,
    resources: { requests: { storage: '1Gi' } },
  }
}

/** Takes away what it made in the cluster. */
async function clear(): Promise<void> {
  const { items } = await admin.json<{ items: { metadata: { name: string } }[] }>(
    'GET',
    '/api/v1/namespaces',
    {
      query: { labelSelector: `berth.cloud=${cloudId}` },
    },
  )
  for (const { metadata } of items) await admin.json('DELETE', `/api/v1/namespaces/${metadata.name}`)
  const ours = { query: { labelSelector: `bench=${CLASS}` } }
  await admin.json('DELETE', `/api/v1/namespaces/${NAMESPACE}/persistentvolumeclaims`, ours)
  await admin.json('DELETE', '/api/v1/persistentvolumes', ours)
  await admin.json('DELETE', `/apis/storage.k8s.io/v1/storageclasses/${CLASS}`)
}

/** The one that ships, with what the simulated fleet has. */
function catalogueOf() {
  const shipped = loadCatalogue(CATALOGUE)
  const nodes = { image: IMAGE, pull: 'never', command: ['sleep'] }
  return {
    ...shipped,
    images: shipped.images.map(image =>
      image.id === FORM.image_id ? { ...image, recipe: { ...image.recipe, kubernetes: nodes } } : image,
    ),
    gpu_specs: shipped.gpu_specs.map(spec =>
      spec.id === FORM.gpu_spec_id
        ? { ...spec, vendor_names: ['NVIDIA H200'], vcpu: 8, memory_gb: 64 }
        : spec,
    ),
  }
}
