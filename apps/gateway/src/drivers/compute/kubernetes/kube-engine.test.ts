import { randomBytes } from 'node:crypto'
import pino from 'pino'
import { afterAll, beforeAll, describe } from 'vitest'
import { describeConformance } from '../conformance/conformance.ts'
import { clusterProbe, openTestCluster, type TestCluster } from './cluster-fixture.ts'
import { createKubeEngine } from './kube-engine.ts'

const log = pino({ level: 'silent' })
const cloudId = `t${randomBytes(4).toString('hex')}`

if (!clusterProbe.ok) process.stdout.write(`SKIP machines on Kubernetes: ${clusterProbe.why}\n`)
describe.skipIf(!clusterProbe.ok)('machines on Kubernetes', () => {
  let cluster: TestCluster
  const image = { id: 'test', parts: {} as Record<string, unknown> }
  const makeEngine = () =>
    createKubeEngine({ place: cluster.place, terms: cluster.terms, cloudId, egress: null, log })

  beforeAll(async () => {
    cluster = await openTestCluster()
    Object.assign(image.parts, cluster.image.parts)
  })
  afterAll(async () => {
    await cluster?.removeCloud(cloudId)
    await cluster?.close()
  })

  describeConformance('the Kubernetes engine', {
    makeEngine,
    image,
    missingImage: { id: 'elsewhere', parts: { sandbox: 'host' } },
    shutdownStops: false,
    // The kernel's buffers of three connections: to the API server, from there to the node, and on that to what runs pods.
    heldLines: 5_000_000,
  })
})
