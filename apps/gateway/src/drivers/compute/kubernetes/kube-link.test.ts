import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, expect, test } from 'vitest'
import { engineDescriptionSchema } from '../engine-description.ts'
import { createEngineSource } from '../engine-source.ts'
import { readRegistryLogin, readRegistryPlace } from './node-registry.ts'

const baseDir = mkdtempSync(join(tmpdir(), 'berth-kubeconfig-'))
afterAll(() => rmSync(baseDir, { recursive: true }))

function sourceOf(described: object) {
  return createEngineSource(engineDescriptionSchema.parse({ driver: 'kubernetes', ...described }), {
    cloudId: 'x',
    sandboxDir: baseDir,
    baseDir,
    egress: null,
    openRepository: () => {
      throw new Error('nothing is kept')
    },
    log: pino({ level: 'silent' }),
  })
}

function kubeconfig(name: string, server: string): string {
  const config = {
    clusters: [{ name: 'c', cluster: { server } }],
    users: [{ name: 'u', user: { token: 'a-secret' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  }
  writeFileSync(join(baseDir, name), JSON.stringify(config))
  return name
}

test.each([
  ['whose kubeconfig is not there', { kubeconfig: 'none' }],
  ['that is spoken to without TLS', { kubeconfig: kubeconfig('plain', 'http://127.0.0.1:1') }],
  ['where nobody listens', { kubeconfig: kubeconfig('closed', 'https://127.0.0.1:1') }],
  ['of no context', { kubeconfig: kubeconfig('other', 'https://127.0.0.1:1'), context: 'elsewhere' }],
])('a cluster %s is one that does not answer, and nothing of its token is told', async (_name, described) => {
  const error = await sourceOf(described)
    .open()
    .then(
      () => null,
      (reason: unknown) => reason,
    )
  expect(error).toMatchObject({ name: 'ComputeError', code: 'engine_unavailable' })
  expect(String(error)).not.toContain('a-secret')
})

test.each([
  ['whose place is not there', { place_file: 'none' }, 'engine_unavailable'],
  ['whose place is none', { place_file: 'word' }, 'unsupported'],
  ['whose place names no repository', { place_file: 'bare' }, 'unsupported'],
  ['whose login for nodes is none', { place_file: 'place', pull_file: 'word' }, 'unsupported'],
])(
  'a registry for images %s is told before the cluster is asked, without what the file says',
  async (_name, image_registry, code) => {
    const lines = {
      word: 'a-secret',
      bare: 'https://anna:a-secret@registry.internal:5000',
      place: 'https://anna:a-secret@registry.internal:5000/berth/images\n',
    }
    for (const [name, line] of Object.entries(lines)) writeFileSync(join(baseDir, name), line)
    const cluster = kubeconfig('registry', 'https://127.0.0.1:1')
    const error = await sourceOf({ kubeconfig: cluster, image_registry })
      .open()
      .catch((reason: unknown) => reason)
    expect(error).toMatchObject({ name: 'ComputeError', code })
    expect(String(error)).not.toContain('a-secret')
  },
)

test('a line that names a registry says where, by whom, and what images’ names begin with', () => {
  expect(readRegistryPlace('https://anna:open%20sesame@registry.internal:5000/berth/images\n')).toEqual({
    ...{
      origin: 'https://registry.internal:5000',
      host: 'registry.internal:5000',
      repository: 'berth/images',
    },
    login: { username: 'anna', password: 'open sesame' },
  })
  expect(readRegistryPlace('http://registry/berth')?.login).toBeNull()
  for (const line of [
    '',
    'registry/berth',
    'ftp://x/y',
    'https://x/',
    'https://x/Upper',
    'https://x/y?z',
    'https://x/a//b',
  ])
    expect(readRegistryPlace(line)).toBeNull()
  expect(readRegistryLogin('nodes:a:b\n')).toEqual({ username: 'nodes', password: 'a:b' })
  for (const line of ['', 'nodes', ':b', 'nodes:']) expect(readRegistryLogin(line)).toBeNull()
})

test('a source says which cluster it leads to', () => {
  expect(sourceOf({ kubeconfig: 'prod', context: 'east' }).description).toBe(
    `the Kubernetes cluster of ${join(baseDir, 'prod')} (east)`,
  )
  expect(sourceOf({ in_cluster: true, gateway_namespace: 'berth' }).description).toBe(
    'the Kubernetes cluster that this gateway is in',
  )
})
