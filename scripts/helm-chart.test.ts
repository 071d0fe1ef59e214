import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { readConfig } from '../apps/gateway/src/platform/config/config.ts'
import { SETTINGS } from '../apps/gateway/src/platform/config/settings.ts'
import { root } from './lib/paths.mjs'
import {
  CHART,
  FULL_VALUES,
  findHelm,
  LEAST_VALUES,
  NO_HELM,
  type Rendered,
  renderChart,
} from './test/helm.ts'

/** What is left of an orderly end when readiness was taken back: the deadlines of its phases with an outer database. */
const END_SECONDS = 30

const nameOf = ({ kind, metadata }: { kind: string; metadata: { name: string } }) =>
  `${kind} ${metadata.name}`
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const documents = (text: string) => parseAllDocuments(text).map(document => document.toJS() as Rendered)

test('each value of the chart stands in its schema, and has a word said of it', () => {
  const text = read('deploy/helm/values.yaml')
  const values = parse(text) as Record<string, unknown>
  const { properties } = JSON.parse(read('deploy/helm/values.schema.json')) as {
    properties: Record<string, { properties?: Record<string, unknown> }>
  }
  expect(Object.keys(properties).filter(name => name !== 'global')).toEqual(
    expect.arrayContaining(Object.keys(values)),
  )
  for (const [name, { properties: inner }] of Object.entries(properties)) {
    if (name === 'global') continue
    expect(text, name).toContain(`\n${name}:`)
    if (inner) expect(Object.keys(inner).sort(), name).toEqual(Object.keys(values[name] as object).sort())
  }
})

const helm = findHelm()
if (helm === null) process.stdout.write(`SKIP the Helm chart: ${NO_HELM}\n`)

// Goal: what `helm install` makes is what a gateway needs. Method: the real Helm renders it, and its parts are held against what
// they are made from: the rights, the alarms, the settings, the shutdown.
describe.skipIf(helm === null)('the Helm chart', () => {
  const render = (values: object = LEAST_VALUES, namespace?: string) =>
    renderChart(helm ?? '', values, namespace)
  const one = (objects: Rendered[], kind: string, name = 'berth') => {
    const found = objects.filter(object => object.kind === kind && object.metadata.name === name)
    expect(found, `${kind} ${name}`).toHaveLength(1)
    return found[0] as Rendered
  }
  const refused = (values: object, why: RegExp, namespace?: string) =>
    expect(() => render(values, namespace)).toThrow(why)

  test.each([
    ['the least', LEAST_VALUES],
    ['full', FULL_VALUES],
  ])('Helm has nothing against it with %s values', (_, values) => {
    const words = ['lint', '--strict', CHART, '--values', '-']
    const said = execFileSync(helm ?? '', words, {
      input: JSON.stringify(values),
      encoding: 'utf8',
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    expect(said).toContain('0 chart(s) failed')
  })

  test('three gateways that are nobody on their nodes, are probed by the management port, and end in their own time', () => {
    const objects = render()
    const { spec } = one(objects, 'Deployment')
    const pod = spec.template.spec
    const [gateway] = pod.containers
    expect(spec.replicas).toBe(3)
    expect(spec.strategy).toEqual({
      type: 'RollingUpdate',
      rollingUpdate: { maxSurge: 1, maxUnavailable: 0 },
    })
    expect(one(objects, 'PodDisruptionBudget').spec).toMatchObject({
      maxUnavailable: 1,
      selector: { matchLabels: spec.selector.matchLabels },
    })
    expect(spec.template.metadata.labels).toMatchObject(spec.selector.matchLabels)
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000 })
    expect(gateway.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    expect(pod.enableServiceLinks).toBe(false)
    const portOf = (name: string) => gateway.ports.find((port: { name: string }) => port.name === name)
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
      expect(gateway[probe].httpGet.port).toBe('management')
    const { data } = one(objects, 'ConfigMap', 'berth-settings')
    expect(String(portOf('management').containerPort)).toBe(data.BERTH_MANAGEMENT_PORT)
    expect(String(portOf('http').containerPort)).toBe(data.BERTH_PORT)
    expect(String(portOf('internal').containerPort)).toBe(data.BERTH_INTERNAL_PORT)
    // The management port is none of the service that customers reach.
    expect(one(objects, 'Service').spec.ports.map(({ name }: { name: string }) => name)).toEqual(['http'])
    for (const [drainSeconds, graceSeconds] of [
      [0, 0],
      [10, 120],
      [60, 3600],
    ] as const) {
      const made = render({ ...LEAST_VALUES, drainSeconds, graceSeconds })
      expect(one(made, 'ConfigMap', 'berth-settings').data).toMatchObject({
        ...{ BERTH_DRAIN_MS: String(drainSeconds * 1000), BERTH_GRACE_MS: String(graceSeconds * 1000) },
      })
      expect(one(made, 'Deployment').spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(
        drainSeconds + graceSeconds + END_SECONDS,
      )
    }
  })

  test.each([
    ['the least', LEAST_VALUES],
    ['full', FULL_VALUES],
  ])(
    'the gateway takes the settings that %s values come to, and reads its secrets from files',
    (_, values) => {
      const objects = render(values)
      const [gateway] = one(objects, 'Deployment').spec.template.spec.containers
      const all = gateway.env as { name: string; value: string }[]
      const files = all.filter(({ name }) => name.endsWith('_FILE'))
      const given = Object.fromEntries(
        files.map(({ name }) => {
          const setting = name.replace(/_FILE$/, '')
          expect(SETTINGS).toHaveProperty([setting, 'secret'], true)
          return [setting, EXAMPLES[setting]]
        }),
      )
      const settings = one(objects, 'ConfigMap', 'berth-settings').data as Record<string, string>
      expect(Object.keys(settings).filter(name => !(name in SETTINGS))).toEqual([])
      // What it is told of itself by the cluster.
      const told = all.some(({ name }) => name === 'BERTH_DIRECT_HOST') && { BERTH_DIRECT_HOST: '10.244.0.7' }
      expect(() => readConfig({ ...settings, ...given, ...told })).not.toThrow()
      const mount = gateway.volumeMounts.find(({ name }: { name: string }) => name === 'secrets')
      for (const { value } of files) expect(value.startsWith(`${mount.mountPath}/`)).toBe(true)
    },
  )

  test('the rights are those of deploy/kubernetes, in whichever namespace it is installed', () => {
    const plain = (objects: Rendered[]) =>
      objects
        .filter(({ kind }) => kind !== 'Namespace')
        .map(({ metadata: { labels: _, ...metadata }, ...rest }) => ({ ...rest, metadata }))
    const files = ['deploy/kubernetes/rbac.yaml', 'deploy/kubernetes/kubelet-stats.yaml']
    const shipped = plain(files.flatMap(path => documents(read(path))))
    const kinds = new Set(shipped.map(({ kind }) => kind))
    const made = (namespace: string) =>
      plain(
        render({ ...LEAST_VALUES, machines: { kubelets: true } }, namespace).filter(({ kind }) =>
          kinds.has(kind),
        ),
      )
    const byName = (objects: { kind: string; metadata: { name: string } }[]) =>
      objects.sort((one, two) => nameOf(one).localeCompare(nameOf(two)))
    expect(byName(made('berth'))).toEqual(byName(shipped))
    const elsewhere = JSON.stringify(made('cloud'))
    expect(elsewhere).toContain('system:serviceaccount:cloud:berth-gateway')
    expect(elsewhere).not.toMatch(/"namespace":"berth"|serviceaccount:berth:/)
    const account = one(render(LEAST_VALUES, 'cloud'), 'Deployment').spec.template.spec.serviceAccountName
    expect(account).toBe('berth-gateway')
    // A gateway writes in namespaces berth-…, so it is in none of them.
    refused(LEAST_VALUES, /customers/, 'berth-system')
    const apart = render({ ...LEAST_VALUES, machines: { inCluster: false } })
    expect(apart.some(({ kind }) => /Role|Admission/.test(kind))).toBe(false)
    expect(one(apart, 'Deployment').spec.template.spec.automountServiceAccountToken).toBe(false)
  })

  test('customers come by the console’s hosts, by one wildcard for services, and by S3’s where there is one', () => {
    const hosts = (values: object) =>
      Object.fromEntries(
        one(render(values), 'Ingress').spec.rules.map(({ host, http }: { host: string; http: Rendered }) => [
          host,
          http.paths[0].backend.service.port.name,
        ]),
      )
    expect(hosts(LEAST_VALUES)).toEqual({ 'gpu.example.com': 'http', '*.apps.example.net': 'http' })
    expect(hosts(FULL_VALUES)).toEqual({
      'gpu.example.com': 'http',
      'north.example.org': 'http',
      '*.apps.example.net': 'http',
      's3.example.com': 's3',
      '*.s3.example.com': 's3',
    })
    const { rules } = one(render(FULL_VALUES), 'PrometheusRule').spec.groups[0]
    expect(rules).toEqual(parse(read('deploy/prometheus/berth-alerts.yaml')).groups[0].rules)
  })

  test('direct ports, of TCP and UDP alike, lead to any gateway by their own numbers', () => {
    const named = (objects: Rendered[]) => objects.map(({ metadata }) => metadata.name)
    expect(named(render())).not.toContain('berth-direct')
    const objects = render(FULL_VALUES)
    const { ports, type } = one(objects, 'Service', 'berth-direct').spec
    expect(type).toBe('NodePort')
    const numbers = ports.map(({ protocol, port, targetPort, nodePort }: Rendered) => {
      expect([targetPort, nodePort]).toEqual([port, port])
      return `${protocol} ${port}`
    })
    expect(numbers).toEqual([30500, 30501, 30502].flatMap(port => [`TCP ${port}`, `UDP ${port}`]))
    const { data } = one(objects, 'ConfigMap', 'berth-settings')
    expect(data).toMatchObject({ BERTH_DIRECT_PORTS: '30500-30502', BERTH_DIRECT_NAME: 'direct.example.net' })
    const { ingress } = one(objects, 'NetworkPolicy').spec
    expect(JSON.stringify(ingress)).toContain('{"protocol":"UDP","port":30500,"endPort":30502}')
    refused({ ...LEAST_VALUES, directPorts: { service: 'LoadBalancer' } }, /directPorts.name/)
  })

  test('values that are none, secrets in the open and settings of its own are refused', () => {
    refused({}, /publicUrl/)
    refused({ ...LEAST_VALUES, replica: 3 }, /replica/)
    refused({ ...LEAST_VALUES, settings: { BERTH_NO_SUCH: '1' } }, /BERTH_NO_SUCH/)
    refused({ ...LEAST_VALUES, settings: { SMTP_URL: 'smtp://user:password@host' } }, /SMTP_URL/)
    refused({ ...LEAST_VALUES, settings: { BERTH_PORT: '81' } }, /BERTH_PORT/)
    refused({ ...LEAST_VALUES, secrets: { settings: ['BERTH_MASTER_KEY'] } }, /settings/)
  })
})

/** Values of secrets, as files would hold them. */
const EXAMPLES: Record<string, string> = {
  DATABASE_URL: 'postgresql://berth:password@postgres:5432/berth',
  BERTH_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
  SMTP_URL: 'smtp://user:password@mail.example.com:587',
  BERTH_IMAGE_STORE: 'https://user:password@registry.internal/berth/images',
}
