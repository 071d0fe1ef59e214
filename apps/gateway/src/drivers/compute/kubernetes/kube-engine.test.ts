import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeChart } from '../../../../test/chart-walk.ts'
import { describeDrain } from '../../../../test/cluster-drain.ts'
import { describeOutages } from '../../../../test/cluster-faults.ts'
import { describeClusterImages } from '../../../../test/cluster-images.ts'
import { describeClusterWalk } from '../../../../test/cluster-walk.ts'
import { triesOf } from '../../../../test/long-runs.ts'
import { describeConformance } from '../conformance/conformance.ts'
import { describeDatagrams } from '../conformance/network.ts'
import { smallMachine } from '../conformance/small-machine.ts'
import { eventually, expectCode, never, type Subject, text } from '../conformance/tools.ts'
import { hasRealRegistry, makeImage, startRegistry } from '../oci/registry-fixture.ts'
import { openDatagrams } from '../port/datagram-line.ts'
import type { Engine } from '../port/engine.ts'
import type { MachineSpec } from '../port/machines.ts'
import { offered } from '../port/part.ts'
import { clusterProbe, kubectl, openTestCluster, type TestCluster } from './cluster-fixture.ts'
import { createKubeEngine } from './kube-engine.ts'
import { createKubeLink } from './kube-link.ts'

const log = pino({ level: 'silent' })
const cloudId = `t${randomBytes(4).toString('hex')}`

if (!clusterProbe.ok) process.stdout.write(`SKIP machines on Kubernetes: ${clusterProbe.why}\n`)
describe.skipIf(!clusterProbe.ok)('machines on Kubernetes', () => {
  let cluster: TestCluster
  const image = { id: 'test', parts: {} as Record<string, unknown> }
  const open = (place = cluster.place) =>
    createKubeEngine({ place, terms: cluster.terms, cloudId, egress: null, log, placePatienceMs: 2_000 })

  beforeAll(async () => {
    cluster = await openTestCluster()
    Object.assign(image.parts, cluster.image.parts)
  }, 480_000)
  afterAll(async () => {
    await cluster?.removeCloud(cloudId)
    await cluster?.close()
  }, 120_000)

  describeFaults(() => cluster, open)
  describeNeighbour(() => cluster)
  const awayS = triesOf('outages')
  if (awayS > 0) describeOutages(() => cluster, cloudId, awayS)
  else process.stdout.write('SKIP a cluster whose parts die: a long run (outages) looks\n')
  describeClusterWalk(() => cluster)
  if (triesOf('drains') > 0) describeDrain(() => cluster)
  else process.stdout.write('SKIP a node that is taken out of service: a long run (drains) looks\n')
  describeChart(() => cluster)
  const isWhole = triesOf('clusters') > 0
  if (!isWhole)
    process.stdout.write('SKIP the Kubernetes engine keeps the port: a long run (clusters) looks\n')
  describe.skipIf(!isWhole)('by the suite of all drivers', () =>
    describeConformance('the Kubernetes engine', {
      makeEngine: () => open(),
      image,
      missingImage: { id: 'elsewhere', parts: { sandbox: 'host' } },
      shutdownStops: false,
      // The kernel's buffers of three connections: to the API server, from there to the node, and on that to what runs pods.
      heldLines: 5_000_000,
    }),
  )
  if (!isWhole) process.stdout.write('SKIP images of machines of a cluster: a long run (clusters) looks\n')
  else if (hasRealRegistry) describeClusterImages(() => cluster)
  else process.stdout.write('SKIP images of machines of a cluster: docker-registry is not installed\n')
})

/** What a gateway can that is in the pods' network, as this computer is: it is their node. */
function describeNeighbour(cluster: () => TestCluster): void {
  describe('from within the pods’ network', () => {
    const made: string[] = []
    let engine: Engine
    const subject: Subject = {
      engine: () => engine,
      inside: test,
      spec: part => {
        const id = `n-${randomBytes(5).toString('hex')}`
        made.push(id)
        return smallMachine(id, cluster().image, part)
      },
      running: async part => {
        const machine = subject.spec(part)
        await engine.machines.create(machine, never)
        await engine.machines.start(machine.id, never)
        return machine
      },
    }
    beforeAll(async () => {
      const { place, terms } = cluster()
      engine = await createKubeEngine({
        ...{ place, cloudId, egress: null, log },
        terms: { ...terms, reachesPods: true, gatewayNamespace: 'berth' },
      })
    })
    afterAll(async () => {
      for (const id of made) await engine?.machines.remove(id, never)
      await engine?.shutdown()
    })

    describeDatagrams(subject)

    test('a way for datagrams ends with the pod that it was opened to, and a new one leads to the next', async () => {
      const { id } = await subject.running({ udp_ports: [5353] })
      const flow = openDatagrams(await offered(engine.network.udp).open(id, 5353))
      const isOver = new Promise<void>(resolve => flow.onClose(resolve))
      await engine.machines.stop(id, never)
      await isOver
      await engine.machines.start(id, never)
      openDatagrams(await offered(engine.network.udp).open(id, 5353)).close()
    })
  })
}

/** What becomes of machines when something of the cluster, or of a gateway, goes wrong. */
function describeFaults(
  cluster: () => TestCluster,
  open: (place?: TestCluster['place']) => Promise<Engine>,
): void {
  const made: string[] = []
  const spec = (part: Partial<MachineSpec> = {}) => {
    const id = `f-${randomBytes(5).toString('hex')}`
    made.push(id)
    return smallMachine(id, cluster().image, part)
  }
  const podsOf = async (id: string) =>
    JSON.parse(await kubectl('get', 'pods', '-A', '-l', `berth.instance=${id}`, '-o', 'json')).items as {
      metadata: { uid: string; namespace: string }
    }[]

  afterAll(async () => {
    if (made.length === 0) return
    const engine = await open()
    for (const id of made) await engine.machines.remove(id, never)
    await engine.shutdown()
  })

  test('two gateways that make and start one machine at once make one, whichever is quicker', async () => {
    const [one, two] = await Promise.all([open(), open()])
    const machine = spec({ env: { SECRET: 'told to nobody' } })
    await Promise.all([one.machines.create(machine, never), two.machines.create(machine, never)])
    await Promise.all([one.machines.start(machine.id, never), two.machines.start(machine.id, never)])
    const [pod, ...others] = await podsOf(machine.id)
    expect(others).toEqual([])
    expect(JSON.stringify(pod)).not.toContain('told to nobody')
    expect(await text(two, machine.id, 'echo $SECRET')).toBe('told to nobody\n')
    // What keeps its namespace apart is there, and the gateway's own rights in it.
    const namespace = pod?.metadata.namespace ?? ''
    const policy = JSON.parse(await kubectl('-n', namespace, 'get', 'networkpolicy', 'berth', '-o', 'json'))
    expect(policy.spec).toMatchObject({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] })
    expect(policy.spec.ingress ?? []).toEqual([])
    expect(policy.spec.egress[0].to[0].ipBlock.except).toContain('169.254.0.0/16')
    await Promise.all([one.machines.remove(machine.id, never), two.machines.remove(machine.id, never)])
    for (const engine of [one, two]) {
      expect(await engine.observation.status(machine.id)).toEqual({ state: 'absent' })
      await engine.shutdown()
    }
  })

  test('its rights end at the namespaces that it makes', async () => {
    const link = await createKubeLink(cluster().place)
    const apply = (path: string, kind: string, rest: object = {}) =>
      link.json('PATCH', path, {
        query: { fieldManager: 'berth', force: true },
        contentType: 'application/apply-patch+yaml',
        body: { kind, metadata: { name: path.split('/').at(-1) }, ...rest },
      })
    const rbac = 'rbac.authorization.k8s.io'
    const roleRef = { apiGroup: rbac, kind: 'ClusterRole', name: 'berth-machines' }
    const binding = `/apis/${rbac}/v1/namespaces/kube-system/rolebindings/berth`
    const refusal = expect.objectContaining({ message: expect.stringContaining('namespaces berth-… alone') })
    await expect(apply(binding, 'RoleBinding', { apiVersion: `${rbac}/v1`, roleRef })).rejects.toEqual(
      refusal,
    )
    for (const name of ['kube-system', 'elsewhere', 'berth'])
      await expect(apply(`/api/v1/namespaces/${name}`, 'Namespace', { apiVersion: 'v1' })).rejects.toEqual(
        refusal,
      )
    // Nor may it ask kubelets, which run programs for whoever may.
    const [node] = JSON.parse(await kubectl('get', 'nodes', '-o', 'json')).items
    const proxied = `/api/v1/nodes/${node.metadata.name}/proxy/stats/summary`
    await expect(link.json('GET', proxied)).rejects.toMatchObject({ status: 403 })
    link.close()
  })

  test('what a killed gateway has left half made is made whole, or taken away', async () => {
    const engine = await open()
    const machine = spec()
    await engine.machines.create(machine, never)
    // As far as one comes that is killed behind the disk.
    const [disk] = JSON.parse(
      await kubectl('get', 'pvc', '-A', '-l', `berth.instance=${machine.id}`, '-o', 'json'),
    ).items as { metadata: { name: string; namespace: string } }[]
    await kubectl('-n', disk?.metadata.namespace ?? '', 'delete', 'secret', disk?.metadata.name ?? '')
    await expectCode(engine.machines.start(machine.id, never), 'failed')
    expect((await engine.machines.list()).find(({ id }) => id === machine.id)?.state).toBe('created')
    await engine.machines.create(machine, never)
    // One that is killed while it waits for the pod.
    const killed = await open()
    const starting = killed.machines.start(machine.id, never).catch(() => undefined)
    await eventually(async () => expect(await podsOf(machine.id)).toHaveLength(1))
    const next = await open()
    await next.machines.start(machine.id, never)
    await starting
    expect(await podsOf(machine.id)).toHaveLength(1)
    expect((await next.observation.status(machine.id)).state).toBe('running')
    await next.machines.remove(machine.id, never)
    for (const one of [engine, killed, next]) await one.shutdown()
  })

  test('an image that is not to be had, and a machine that no node takes, are told by a code, and leave no pod', async () => {
    const engine = await open()
    const none = { image: 'peers.local/none:1', pull: 'never', command: [] }
    const machine = spec({ image: { id: 'none', parts: { kubernetes: none } } })
    await expectCode(
      engine.images.pull(machine.image, () => undefined, never),
      'image_unavailable',
    )
    await engine.machines.create(machine, never)
    await expectCode(engine.machines.start(machine.id, never), 'image_unavailable')
    expect(await podsOf(machine.id)).toEqual([])
    expect(await engine.observation.status(machine.id)).toEqual({ state: 'created' })
    // Nothing listens there.
    const away = { id: 'away', parts: { kubernetes: 'localhost:1/none:1' } }
    await expectCode(
      engine.images.pull(away, () => undefined, never),
      'registry_unreachable',
    )
    await expectCode(engine.machines.create(spec({ image: away }), never), 'image_unavailable')
    const large = spec({ memory_mb: 1024 ** 2 })
    await engine.machines.create(large, never)
    await expectCode(engine.machines.start(large.id, never), 'unschedulable')
    expect(await podsOf(large.id)).toEqual([])
    const { gpus } = await engine.size()
    const given = gpus.slice(0, 2).map(({ uuid }) => uuid)
    expect(gpus[0]).toMatchObject({ name: 'NVIDIA H100 80GB HBM3', memory_mb: 81_559 })
    const wrong = spec({ gpu_uuids: given.map(uuid => uuid.replace('H100', 'B200')) })
    await engine.machines.create(wrong, never)
    await expectCode(engine.machines.start(wrong.id, never), 'unschedulable')
    await engine.shutdown()
  })

  test('an image of a registry is asked what it runs, pulled with its customer’s login, and by no other', async () => {
    const said = {
      Entrypoint: ['/bin/sh', '-c', 'echo "entry $WORD"; sleep 3600'],
      Env: ['WORD=of the image'],
    }
    const registry = await startRegistry(makeImage([{ bytes: smallLayer(), packing: '' }], said))
    const basic = `Basic ${Buffer.from('anna:open sesame').toString('base64')}`
    registry.does(({ headers }, response) => {
      if (headers.authorization === basic) return false
      response.writeHead(401, { 'www-authenticate': 'Basic realm="registry"' }).end('{}')
      return true
    })
    const engine = await open()
    const imageOf = (owner: string) => ({ id: 'own', owner, parts: { kubernetes: registry.reference } })
    const pull = (owner: string, password: string | null) => {
      const login = password === null ? null : { username: 'anna', password }
      const access = async () => ({ login, ca: null, also: [] })
      return engine.images.pull(imageOf(owner), () => undefined, never, access)
    }
    await expectCode(pull('anna', null), 'image_needs_login')
    await expectCode(pull('anna', 'close sesame'), 'image_login_refused')
    await pull('anna', 'open sesame')
    const machine = spec({ image: imageOf('anna'), tenant: 'anna' })
    await engine.machines.create(machine, never)
    await engine.machines.start(machine.id, never)
    await eventually(async () =>
      expect(await engine.observation.logs(machine.id, { lines_max: 9 })).toBe('entry of the image\n'),
    )
    // It is on the node now, and is for nobody who has no login.
    await expectCode(pull('ben', null), 'image_needs_login')
    const another = spec({ image: imageOf('ben'), tenant: 'ben' })
    await expectCode(engine.machines.create(another, never), 'image_unavailable')
    expect(JSON.parse(await kubectl('get', 'pods', '-A', '-l', 'berth.errand', '-o', 'json')).items).toEqual(
      [],
    )
    // Its node pulled what was looked at, and the login goes with the last machine that needs it.
    const [pod] = JSON.parse(
      await kubectl('get', 'pods', '-A', '-l', `berth.instance=${machine.id}`, '-o', 'json'),
    ).items
    expect(pod.spec.containers[0].image).toMatch(/\/t\/image@sha256:[0-9a-f]{64}$/)
    const place = ['-n', pod.metadata.namespace, 'get', 'secrets', '-o', 'name']
    const [{ name: login }] = pod.spec.imagePullSecrets
    expect(await kubectl(...place)).toContain(login)
    await engine.machines.remove(machine.id, never)
    await eventually(async () => expect(await kubectl(...place)).not.toContain(login))
    await engine.shutdown()
    registry.close()
  })

  test('while the API server is away nothing is said of machines; when it is back, what happened meanwhile is told', async () => {
    const way = await openWay(cluster())
    const engine = await open(way.place)
    const machine = spec()
    await engine.machines.create(machine, never)
    await engine.machines.start(machine.id, never)
    const heard: string[] = []
    const unwatch = engine.observation.watch(id => heard.push(id))
    const [running] = await podsOf(machine.id)
    const place = ['-n', running?.metadata.namespace ?? '']
    await kubectl(...place, 'annotate', 'pod', `m-${machine.id}`, 'seen=yes')
    await eventually(() => expect(heard).toContain(machine.id))
    way.cut()
    await expectCode(engine.size(), 'engine_unavailable')
    await expectCode(engine.observation.status(machine.id), 'engine_unavailable')
    await expectCode(engine.machines.stop(machine.id, never), 'engine_unavailable')
    await expectCode(engine.console.exec(machine.id, ['true']), 'engine_unavailable')
    await kubectl(...place, 'delete', 'pod', `m-${machine.id}`, '--grace-period=1')
    heard.length = 0
    way.open()
    await eventually(() => expect(heard).toContain(machine.id))
    expect(await engine.observation.status(machine.id)).toEqual({
      state: 'stopped',
      exit_code: null,
      cause: 'node_lost',
    })
    await engine.machines.start(machine.id, never)
    expect(await text(engine, machine.id, 'echo back')).toBe('back\n')
    unwatch()
    await engine.machines.remove(machine.id, never)
    await engine.shutdown()
    way.close()
  })
}

/** A layer with a shell and what comes with it. */
function smallLayer(): Buffer {
  const tree = mkdtempSync(join(tmpdir(), 'berth-layer-'))
  try {
    for (const dir of ['bin', 'tmp', 'root', 'etc', 'dev', 'proc', 'sys']) mkdirSync(join(tree, dir))
    copyFileSync('/bin/busybox', join(tree, 'bin/busybox'))
    for (const name of ['sh', 'sleep', 'cp', 'cat']) symlinkSync('busybox', join(tree, 'bin', name))
    return execFileSync('tar', ['-C', tree, '--owner=0', '--group=0', '-c', '.'], {
      maxBuffer: 64 * 1024 ** 2,
    })
  } finally {
    rmSync(tree, { recursive: true })
  }
}

/** A way to the API server that a test may cut. */
async function openWay({ file }: TestCluster) {
  const config = JSON.parse(readFileSync(file, 'utf8')) as { clusters: { cluster: { server: string } }[] }
  const there = new URL(config.clusters[0]?.cluster.server ?? '')
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer(near => {
    if (isCut) return void near.destroy()
    const far = connect(Number(there.port), there.hostname)
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  for (const { cluster } of config.clusters) cluster.server = `https://127.0.0.1:${port}`
  const own = `${file}-cut`
  writeFileSync(own, JSON.stringify(config), { mode: 0o600 })
  const cut = () => {
    isCut = true
    for (const socket of sockets) socket.destroy()
  }
  return {
    place: { kind: 'kubeconfig' as const, file: own, context: null },
    cut,
    open: () => {
      isCut = false
    },
    close: () => {
      cut()
      server.close()
    },
  }
}
