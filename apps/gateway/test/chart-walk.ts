import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type NetConnectOpts, type Socket } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { login, signup, verifyEmail } from '@berth/contract/account'
import { topup } from '@berth/contract/billing'
import type { Call, CallInput } from '@berth/contract/call'
import {
  deployInstance,
  getInstanceLogs,
  listInstances,
  startWebTerminal,
  terminateInstance,
} from '@berth/contract/instances'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { parse } from 'yaml'
import { root } from '../../../scripts/lib/paths.mjs'
import {
  FULL_VALUES,
  findHelm,
  LEAST_VALUES,
  NO_HELM,
  type Rendered,
  renderChart,
} from '../../../scripts/test/helm.ts'
import { deployBody } from '../src/domains/instances/instances-fixture.ts'
import { openTerminal } from '../src/domains/reach/reach-fixture.ts'
import { eventually } from '../src/drivers/compute/conformance/tools.ts'
import {
  ADMIN,
  importTree,
  kubectl,
  type TestCluster,
} from '../src/drivers/compute/kubernetes/cluster-fixture.ts'
import { gatewayMetadata, imagesLack, layGateway } from './compose-images.ts'
import { copyTemplate } from './copy-template.ts'
import { bodyOf, startMailServer } from './mail-server.ts'
import { createTlsClient } from './tls-client.ts'

const NAMESPACE = 'berth'
const POLL = { timeout: 120_000, interval: 300 }
const UP_MS = 500_000
const CONSOLE = 'console.test'
const NAMES = { application: 'berth-console', organization: 'berth' }
const EMAIL = 'mira@example.org'
const PASSWORD = 'Harbour-Light-7'
const API_PORT = 443
const HTTP_PORT = 8080
const ANCHOR = 'anchor'
const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

const helm = findHelm()
const lack = helm === null ? NO_HELM : imagesLack()

/**
 * The Helm chart against a real control plane: each of its objects is taken by the API server, and gateways of it run, are
 * replaced, and make machines in the very cluster that they are in.
 */
export function describeChart(cluster: () => TestCluster): void {
  if (lack !== null) process.stdout.write(`SKIP the Helm chart in a cluster: ${lack}\n`)
  describe.skipIf(lack !== null)('the Helm chart in a cluster', () => {
    test.each([
      ['the least', LEAST_VALUES],
      ['full', FULL_VALUES],
    ])('the API server takes each object of it with %s values', async (_, values) => {
      const objects = renderChart(helm ?? '', values)
      // Its definitions are the Prometheus operator's.
      const known = objects.filter(({ apiVersion }) => !apiVersion.startsWith('monitoring.coreos.com/'))
      expect(known.length).toBeGreaterThan(10)
      for (const object of known) await apply(object, { dryRun: 'All' })
    })

    describe('gateways of it', () => describeGateways(cluster))
  })

  /** As `kubectl apply --server-side` does it, with fields refused that the API server does not know. */
  async function apply(object: Rendered, query: { dryRun?: string } = {}): Promise<void> {
    const { admin } = cluster()
    await admin.json('PATCH', await pathOf(object), {
      query: { fieldManager: 'helm', force: true, fieldValidation: 'Strict', ...query },
      contentType: 'application/apply-patch+yaml',
      body: object,
    })
  }

  async function pathOf({ apiVersion, kind, metadata }: Rendered): Promise<string> {
    const base = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
    const { resources } = await cluster().admin.json<{
      resources: { name: string; kind: string; namespaced: boolean }[]
    }>('GET', base)
    const found = resources.find(one => one.kind === kind && !one.name.includes('/'))
    if (found === undefined) throw new Error(`the API server knows no ${kind}`)
    const place = found.namespaced ? `/namespaces/${metadata.namespace ?? NAMESPACE}` : ''
    return `${base}${place}/${found.name}/${metadata.name}`
  }

  function describeGateways(cluster: () => TestCluster): void {
    const closing: (() => unknown)[] = []
    let client: ReturnType<typeof createTlsClient>
    let mails: Awaited<ReturnType<typeof startMailServer>>
    let values: Record<string, unknown>
    let host = ''
    let token = ''
    let id = ''
    let way: Awaited<ReturnType<typeof forward>>

    const data = <C extends Call>(call: C, input: CallInput<C>) =>
      client.data(CONSOLE, call, input, token === '' ? {} : { token })

    beforeAll(async () => {
      const image = await importTree('berth', layGateway, wordsOf(gatewayMetadata()))
      const database = await copyTemplate(inject('postgresUrl'), inject('templateName'))
      closing.push(database.drop)
      mails = await startMailServer()
      closing.push(mails.stop)
      // The network of pods ends at an address of this computer that is there while a pod is.
      const busybox = { name: 'it', image: 'peers.local/busybox:1', imagePullPolicy: 'Never' }
      await kubectl('-n', NAMESPACE, 'delete', 'pod', ANCHOR, '--ignore-not-found', '--grace-period=0')
      await apply({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: ANCHOR },
        spec: { containers: [busybox], terminationGracePeriodSeconds: 0 },
      })
      const addressOf = async () =>
        (await kubectl('-n', NAMESPACE, 'get', 'pod', ANCHOR, '-o', 'jsonpath={.status.podIP}')).trim()
      await eventually(async () => expect(await addressOf()).not.toBe(''))
      host = (await addressOf()).replace(/\d+$/, '1')
      // By a socket in a folder of its own, where whoever comes is trusted.
      const url = new URL(database.url.replace('@/', '@socket/'))
      const socket = join(
        url.searchParams.get('host') ?? '',
        `.s.PGSQL.${url.searchParams.get('port') ?? 5432}`,
      )
      const ways = await Promise.all([
        forward(host, 0, { path: socket }),
        forward(host, 0, { host: '127.0.0.1', port: Number(new URL(mails.url).port) }),
        forward(host, API_PORT, cluster().server),
      ])
      way = await forward('127.0.0.1', 0, { host, port: HTTP_PORT })
      for (const one of [...ways, way]) closing.push(one.close)
      url.search = ''
      url.hostname = host
      url.port = String(ways[0].port)
      await secret('berth', {
        DATABASE_URL: url.href,
        BERTH_MASTER_KEY: randomBytes(32).toString('base64'),
        SMTP_URL: `smtp://${host}:${ways[1].port}`,
      })
      await kubectl('-n', NAMESPACE, 'delete', 'configmap', 'authority', '--ignore-not-found')
      await kubectl(
        ...['-n', NAMESPACE, 'create', 'configmap', 'authority', `--from-literal=ca.crt=${authority()}`],
      )
      client = createTlsClient(way.port, null)
      const [repository, tag] = image.split(':')
      values = {
        image: { repository, tag, pullPolicy: 'Never' },
        replicas: 1,
        publicUrl: `http://${CONSOLE}:${way.port}`,
        serviceHost: 'apps.test',
        secrets: { name: 'berth', settings: ['DATABASE_URL', 'BERTH_MASTER_KEY', 'SMTP_URL'] },
        settings: {
          MAIL_FROM: 'Berth <no-reply@example.com>',
          BERTH_TEST_CARDS: 'no-money-here-is-real',
          BERTH_UNFILTERED_MACHINES: 'machines-may-reach-private-networks',
        },
        catalogue: { files: { 'catalogue.yaml': catalogueOf(cluster()) } },
        drainSeconds: 1,
        graceSeconds: 1,
        resources: {},
      }
    }, UP_MS)
    afterAll(async () => {
      for (const { kind, metadata } of values ? renderChart(helm ?? '', values) : []) {
        // The rights are the whole cluster's, and others of these tests have them.
        if (/Role|Account|Admission/.test(kind)) continue
        await kubectl('-n', NAMESPACE, 'delete', kind, metadata.name, '--ignore-not-found', '--wait=true')
      }
      for (const name of [`pod/${ANCHOR}`, 'configmap/authority', 'secret/berth'])
        await kubectl('-n', NAMESPACE, 'delete', name, '--ignore-not-found')
      await kubectl('delete', 'namespaces', '-l', 'berth.tenant', '--wait=true', '--timeout=90s')
      const ended = await Promise.allSettled(closing.reverse().map(close => close()))
      for (const one of ended) if (one.status === 'rejected') throw one.reason
    }, 200_000)

    async function secret(name: string, fields: Record<string, string>): Promise<void> {
      await kubectl('-n', NAMESPACE, 'delete', 'secret', name, '--ignore-not-found')
      const words = Object.entries(fields).map(([key, value]) => `--from-literal=${key}=${value}`)
      await kubectl('-n', NAMESPACE, 'create', 'secret', 'generic', name, ...words)
    }

    /** The chart's objects, with what a whole cluster gives by itself and this one lacks: a name server, and its authority. */
    async function install(): Promise<void> {
      for (const object of renderChart(helm ?? '', values)) {
        if (object.kind === 'Deployment') {
          const pod = object.spec.template.spec
          pod.hostAliases = [{ ip: host, hostnames: ['kubernetes.default.svc'] }]
          pod.containers[0].volumeMounts.push({ name: 'account', mountPath: ACCOUNT, readOnly: true })
          pod.volumes.push({
            name: 'account',
            projected: {
              sources: [
                { serviceAccountToken: { path: 'token', expirationSeconds: 3_600 } },
                { configMap: { name: 'authority' } },
              ],
            },
          })
        }
        await apply(object)
      }
    }

    interface Pod {
      metadata: { name: string; deletionTimestamp?: string }
      status: { podIP?: string; conditions?: { type: string; status: string }[] }
    }
    async function pods(): Promise<Pod[]> {
      const words = ['-n', NAMESPACE, 'get', 'pods', '-l', 'app.kubernetes.io/name=berth', '-o', 'json']
      return JSON.parse(await kubectl(...words)).items
    }
    const isReady = ({ metadata, status }: Pod) =>
      metadata.deletionTimestamp === undefined &&
      status.conditions?.some(one => one.type === 'Ready' && one.status === 'True') === true

    async function readyPod(but = ''): Promise<Pod> {
      const found = async () => (await pods()).find(pod => isReady(pod) && pod.metadata.name !== but)
      await expect.poll(found, POLL).toBeDefined()
      const pod = (await found()) as Pod
      way.to = { host: pod.status.podIP ?? '', port: HTTP_PORT }
      return pod
    }

    test('a gateway comes up as nobody, by its probes, and answers with its console', async () => {
      await install()
      const { metadata } = await readyPod()
      expect((await client.ask(CONSOLE, '/gateway/health')).status).toBe(200)
      expect((await client.ask(CONSOLE, '/auth')).body.toString()).toContain('<div id="root">')
      const log = await kubectl('-n', NAMESPACE, 'logs', metadata.name)
      expect(log).toMatch(/Machines {3}kubernetes/)
      // What is secret stands in no object that says what runs.
      const words = await kubectl('-n', NAMESPACE, 'get', 'deployment,configmap', '-o', 'json')
      expect(words).not.toContain('postgresql://')
    })

    test('a stranger of it has a machine in the same cluster, by the account of its pod', async () => {
      const person = { username: EMAIL, email: EMAIL, name: 'Mira', password: PASSWORD }
      await data(signup, { body: { ...NAMES, ...person, agreement: true } })
      const linkOf = () =>
        mails.received.flatMap(mail => /activty\?token=([\w-]+)/.exec(bodyOf(mail))?.[1] ?? [])[0]
      await expect.poll(linkOf, POLL).toBeDefined()
      await data(verifyEmail, { query: { application: NAMES.application, token: linkOf() ?? '' } })
      token = await data(login, { body: { ...NAMES, type: 'token', username: EMAIL, password: PASSWORD } })
      const card = { currency: 'USD' as const, platform_name: 'testcard', source: '4242 4242 4242 4242' }
      await data(topup, { body: { ...card, amount: 1_000 } })
      const body = deployBody({ gpu_spec_id: 'h100-sxm', http_ports: [], start_command: 'echo served' })
      await expect
        .poll(async () => {
          const made = await data(deployInstance, { body }).catch(() => null)
          id = made?.instance_id ?? ''
          return id
        }, POLL)
        .not.toBe('')
      await expect.poll(status, POLL).toBe('running')
      const log = async () => (await data(getInstanceLogs, { params: { id } })).text
      await expect.poll(log, POLL).toContain('served')
      expect(await shell('echo ke""pt > ~/file; echo to""ld', /told/)).toBe(true)
    })

    test('a new version is begun when all gateways of the one before have ended, and other settings one by one', () => {
      const strategyOf = (image: object) => {
        const next = { ...values, image: { ...(values.image as object), ...image } }
        const objects = renderChart(helm ?? '', next, NAMESPACE, ADMIN)
        return objects.find(({ kind }) => kind === 'Deployment')?.spec.strategy.type
      }
      expect(strategyOf({})).toBe('RollingUpdate')
      expect(strategyOf({ tag: 'next' })).toBe('Recreate')
    })

    test('settings are changed by one gateway after the other, and the old one ends in its own time', async () => {
      const { metadata } = await readyPod()
      values = { ...values, settings: { ...(values.settings as object), BERTH_LOG_LEVEL: 'debug' } }
      await install()
      await readyPod(metadata.name)
      await expect.poll(async () => (await pods()).length, POLL).toBe(1)
      expect(await status()).toBe('running')
      expect(await shell('cat ~/file; echo en""d', /kept\r\nend/)).toBe(true)
      await data(terminateInstance, { params: { id } })
      await expect.poll(status, POLL).toBeUndefined()
      const left = await kubectl('get', 'pods,pvc', '-A', '-l', `berth.instance=${id}`, '-o', 'name')
      expect(left).toBe('')
    })

    const status = async () =>
      (await data(listInstances, {})).find(({ instance_id }) => instance_id === id)?.status

    async function shell(line: string, shown: RegExp): Promise<boolean> {
      const { ticket, path } = await data(startWebTerminal, { body: { instance_id: id, session: 1 } })
      const terminal = await openTerminal(`http://${CONSOLE}:${way.port}`, ticket, {
        path,
        client: client.place,
      })
      terminal.type(`${line}\n`)
      await terminal.shows(shown)
      await terminal.leave()
      return true
    }
  }
}

/** The catalogue that ships, with this cluster as its only engine. */
function catalogueOf({ terms, image }: TestCluster): string {
  const catalogue = parse(readFileSync(join(root, 'config/catalogue.yaml'), 'utf8'))
  const engine = {
    driver: 'kubernetes',
    in_cluster: true,
    gateway_namespace: NAMESPACE,
    storage_class: terms.storageClass,
    helper_image: terms.helperImage,
  }
  for (const region of catalogue.regions) region.engines = [engine]
  for (const spec of catalogue.gpu_specs) Object.assign(spec, { vcpu: 1, memory_gb: 1 })
  for (const one of catalogue.images) if (one.id === 'berth-base') one.kubernetes = image.parts.kubernetes
  return JSON.stringify(catalogue)
}

/** What lines of a Dockerfile say of an image, in the words of OCI. */
function wordsOf(lines: string[]): Parameters<typeof importTree>[2] {
  const said = (word: string) => {
    const line = lines.find(one => one.startsWith(`${word} `))
    return line?.slice(word.length + 1).trim() ?? ''
  }
  return {
    Env: said('ENV').split(/\s+/),
    Entrypoint: JSON.parse(said('ENTRYPOINT')),
    WorkingDir: said('WORKDIR'),
    User: said('USER'),
  }
}

/** The authority of the API server, which puts it behind its own certificate. */
function authority(): string {
  const peers = process.env.PEERS ?? join(homedir(), '.cache', 'peers')
  return readFileSync(join(peers, 'run', 'certs', 'apiserver.crt'), 'utf8')
}

/** Passes connections on; where to may be changed. */
async function forward(host: string, port: number, first: NetConnectOpts) {
  const way = { to: first, port, close: () => {} }
  const sockets = new Set<Socket>()
  const server = createServer(near => {
    const far = connect(way.to)
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
  }).listen(port, host)
  await once(server, 'listening')
  way.port = (server.address() as AddressInfo).port
  way.close = () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  return way
}
