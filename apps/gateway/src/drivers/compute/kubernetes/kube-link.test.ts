import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, expect, test } from 'vitest'
import { engineDescriptionSchema } from '../engine-description.ts'
import { createEngineSource } from '../engine-source.ts'

const baseDir = mkdtempSync(join(tmpdir(), 'berth-kubeconfig-'))
afterAll(() => rmSync(baseDir, { recursive: true }))

function sourceOf(described: object) {
  return createEngineSource(engineDescriptionSchema.parse({ driver: 'kubernetes', ...described }), {
    cloudId: 'x',
    sandboxDir: baseDir,
    baseDir,
    egress: null,
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

test('a source says which cluster it leads to', () => {
  expect(sourceOf({ kubeconfig: 'prod', context: 'east' }).description).toBe(
    `the Kubernetes cluster of ${join(baseDir, 'prod')} (east)`,
  )
  expect(sourceOf({ in_cluster: true, gateway_namespace: 'berth' }).description).toBe(
    'the Kubernetes cluster that this gateway is in',
  )
})
