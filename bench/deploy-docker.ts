// From the deploy call to `running` on a Docker Engine, beside `docker run` of the same image.
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import Docker from 'dockerode'
import { CLOUD_LABEL, createNames } from '../apps/gateway/src/drivers/compute/docker/container-plan.ts'
import { removeCloud } from '../apps/gateway/src/drivers/compute/docker/docker-cloud-fixture.ts'
import { probeDocker } from '../apps/gateway/src/drivers/compute/docker/probe-docker.ts'
import { importTestImage } from '../apps/gateway/src/drivers/compute/docker/test-image.ts'
import { startGatewayProcess } from './lib/gateway-process.ts'
import { inTurns, printOverhead, timeDeploy } from './lib/rounds.ts'

const ROUNDS = 15
const AIM_MS = 200
/** Longer than beside the sandbox: asking takes processors from the engine, which works for longer. */
const ASK_PAUSE_MS = 20
const CATALOGUE = resolve(import.meta.dirname, '../config/catalogue.yaml')
/** What the catalogue's first image is where there is an internet. */
const OFFICIAL = 'docker: debian:12'

const run = promisify(execFile)
const probe = await probeDocker()
if (!probe.ok) throw new Error(`${probe.why}. To have it: ${probe.how_to_get_it}`)
const docker = new Docker({ socketPath: probe.socket_path })
const image = await importTestImage(docker)
const folder = mkdtempSync(join(tmpdir(), 'berth-bench-catalogue-'))
const catalogue = join(folder, 'catalogue.yaml')
writeFileSync(catalogue, readFileSync(CATALOGUE, 'utf8').replace(OFFICIAL, `docker: ${image}`))
const gateway = await startGatewayProcess({ BERTH_COMPUTE: 'docker', BERTH_CATALOGUE: catalogue })
let cloudId = ''
try {
  const rounds = await inTurns(ROUNDS, {
    ours: () => timeDeploy(gateway, { pauseMs: ASK_PAUSE_MS, before: learnCloud }),
    bare: () => startByHand(`berth-bench-by-hand-${process.pid}`),
    words: { ours: 'deploy to running', bare: 'docker run' },
  })
  printOverhead({ what: 'deploy to running on Docker', rounds, aimMs: AIM_MS })
} finally {
  await gateway.stop()
  rmSync(folder, { recursive: true })
  await removeAll()
}

/** The same image on the same network with the same limits, until the client of the engine says that it runs. */
async function startByHand(name: string): Promise<number> {
  const startedAt = performance.now()
  const limits = ['--init', '--network', createNames(cloudId).network, '--memory', '16g', '--cpus', '2']
  await run('docker', ['run', '-d', '--name', name, ...limits, image, 'sleep', '86400'])
  const took = performance.now() - startedAt
  await run('docker', ['rm', '-f', name])
  return took
}

/** Whose machines the gateway's containers are. */
async function learnCloud(instanceId: string): Promise<void> {
  if (cloudId !== '') return
  const containers = await docker.listContainers({ filters: { label: [`berth.instance=${instanceId}`] } })
  cloudId = containers[0]?.Labels[CLOUD_LABEL] ?? ''
}

/** What the gateway leaves for the next one. */
async function removeAll(): Promise<void> {
  if (cloudId === '') return
  await removeCloud(docker, cloudId)
}
