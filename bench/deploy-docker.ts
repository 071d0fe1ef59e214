// From the deploy call to `running` on a Docker Engine, beside `docker run` of the same image.
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import Docker from 'dockerode'
import { CLOUD_LABEL, createNames } from '../apps/gateway/src/drivers/compute/docker/container-plan.ts'
import { probeDocker } from '../apps/gateway/src/drivers/compute/docker/probe-docker.ts'
import { importTestImage } from '../apps/gateway/src/drivers/compute/docker/test-image.ts'
import { median, printFigure, quantile } from './lib/figures.ts'
import { startGatewayProcess } from './lib/gateway-process.ts'

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
const ours: number[] = []
const byHand: number[] = []
let cloudId = ''
try {
  // The first round of each warms it up and is not counted.
  for (let round = 0; round <= ROUNDS; round++) {
    const startedAt = performance.now()
    const id = await gateway.deploy()
    await gateway.until(id, 'running', ASK_PAUSE_MS)
    const took = performance.now() - startedAt
    cloudId ||= await cloudOf(id)
    await gateway.terminate(id)
    const bare = await startByHand(`berth-bench-by-hand-${process.pid}`)
    if (round === 0) continue
    ours.push(took)
    byHand.push(bare)
    console.log(`round ${round}: deploy to running ${took.toFixed(0)} ms, docker run ${bare.toFixed(0)} ms`)
  }
} finally {
  await gateway.stop()
  rmSync(folder, { recursive: true })
  await removeAll()
}
const overhead = median(ours) - median(byHand)
printFigure({
  what: 'deploy to running on Docker, median',
  ours: `${median(ours).toFixed(0)} ms (p90 ${quantile(ours, 0.9).toFixed(0)})`,
  bare: `${median(byHand).toFixed(0)} ms (p90 ${quantile(byHand, 0.9).toFixed(0)})`,
  compared: `overhead ${overhead.toFixed(0)} ms, ratio ${(median(ours) / median(byHand)).toFixed(2)}`,
  aim: { says: `overhead under ${AIM_MS} ms`, met: overhead < AIM_MS },
})

/** The same image on the same network with the same limits, until the client of the engine says that it runs. */
async function startByHand(name: string): Promise<number> {
  const startedAt = performance.now()
  const limits = ['--init', '--network', createNames(cloudId).network, '--memory', '16g', '--cpus', '2']
  await run('docker', ['run', '-d', '--name', name, ...limits, image, 'sleep', '86400'])
  const took = performance.now() - startedAt
  await run('docker', ['rm', '-f', name])
  return took
}

/** Whose machine a container is. */
async function cloudOf(instanceId: string): Promise<string> {
  const containers = await docker.listContainers({ filters: { label: [`berth.instance=${instanceId}`] } })
  return containers[0]?.Labels[CLOUD_LABEL] ?? ''
}

/** What the gateway leaves for the next one. */
async function removeAll(): Promise<void> {
  if (cloudId === '') return
  const names = createNames(cloudId)
  for (const { Id } of await docker.listContainers({
    all: true,
    filters: { label: [`${CLOUD_LABEL}=${cloudId}`] },
  }))
    await docker.getContainer(Id).remove({ force: true })
  await docker.getNetwork(names.network).remove()
  await docker
    .getImage(`${names.guardImage.repo}:${names.guardImage.tag}`)
    .remove()
    .catch(() => undefined)
}
