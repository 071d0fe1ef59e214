import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { root } from '../lib/paths.mjs'

export const CHART = join(root, 'deploy/helm')

/** What an operator must give, and nothing else. */
export const LEAST_VALUES = { publicUrl: 'https://gpu.example.com', serviceHost: 'apps.example.net' }

/** Something of each part of the chart. */
export const FULL_VALUES = {
  ...LEAST_VALUES,
  s3Url: 'https://s3.example.com',
  image: {
    repository: 'registry.internal/berth',
    digest: `sha256:${'a'.repeat(64)}`,
    pullSecrets: ['registry'],
  },
  replicas: 5,
  strategy: 'Recreate',
  settings: { BERTH_TRUSTED_PROXIES: '10.0.0.0/8', MAIL_FROM: 'Berth <no-reply@example.com>' },
  secrets: { name: 'own', settings: ['DATABASE_URL', 'BERTH_MASTER_KEY', 'SMTP_URL', 'BERTH_IMAGE_STORE'] },
  catalogue: {
    files: { 'catalogue.yaml': 'regions: []\n', 'terms.md': '# Terms\n' },
    secretFiles: 'engines',
  },
  machines: { kubelets: true },
  drainSeconds: 20,
  graceSeconds: 300,
  service: { annotations: { 'example.com/one': 'yes' } },
  ingress: {
    className: 'nginx',
    hosts: ['north.example.org'],
    tls: { console: 'console-tls', services: 'services-tls', s3: 's3-tls' },
  },
  ssh: {
    service: 'NodePort',
    port: 2222,
    address: 'ssh.example.com:2222',
    annotations: { 'example.com/two': 'no' },
  },
  directPorts: { service: 'NodePort', name: 'direct.example.net', first: 30500, count: 3 },
  networkPolicy: { ingressNamespaces: ['ingress-nginx'], monitoringNamespaces: ['monitoring'] },
  monitoring: { serviceMonitor: true, rules: true, labels: { release: 'prometheus' } },
  podAnnotations: { 'example.com/three': '3' },
  nodeSelector: { pool: 'system' },
  tolerations: [{ key: 'system', operator: 'Exists' }],
}

/** An object of a cluster, as far as tests look at it. */
export interface Rendered {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace?: string; labels?: Record<string, string> }
  // What it holds besides is each kind's own.
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it, and fail where it is something else.
  [field: string]: any
}

/** Ready-made programs that tests run against, where there are any beside the clone. */
const PACKED = join(root, '../shared/peers')

/** The real Helm of this computer, by `BERTH_HELM`, among the peers, or in PATH; null where there is none. */
export function findHelm(): string | null {
  if (existsSync(join(PACKED, 'bin/helm.xz')))
    execFileSync(join(PACKED, 'unpack'), ['helm'], { stdio: 'ignore' })
  const peers = join(process.env.PEERS ?? join(homedir(), '.cache', 'peers'), 'bin', 'helm')
  const named = process.env.BERTH_HELM ?? (existsSync(peers) ? peers : 'helm')
  return spawnSync(named, ['version'], { stdio: 'ignore' }).status === 0 ? named : null
}

/** Why tests that need it do not run. */
export const NO_HELM =
  'there is no helm (go install helm.sh/helm/v3/cmd/helm@v3.22.0, and name it in BERTH_HELM)'

/**
 * @param kubeconfig A cluster that Helm asks what runs there; left out: none is.
 * @returns What the chart makes. @throws Error with Helm's own words where it refuses.
 */
export function renderChart(
  helm: string,
  values: object,
  namespace = 'berth',
  kubeconfig?: string,
): Rendered[] {
  const asked = kubeconfig === undefined ? [] : ['--dry-run=server', '--kubeconfig', kubeconfig]
  const words = ['template', 'berth', CHART, '--namespace', namespace, '--kube-version', '1.30.0', ...asked]
  const said = execFileSync(helm, [...words, '--values', '-'], {
    input: JSON.stringify(values),
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  return parseAllDocuments(said).flatMap(document => (document.toJS() as Rendered | null) ?? [])
}
