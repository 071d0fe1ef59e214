import { mkdtempSync } from 'node:fs'
import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { test } from 'vitest'
import { deployInstance, listInstances, terminateInstance, stopInstance } from '@berth/contract/instances'
import { createSandboxDriver } from '../src/drivers/compute/sandbox/sandbox-driver.ts'
import { startGateway } from './start-gateway.ts'
import { deployBody } from '../src/domains/instances/instances-fixture.ts'

test('latency', async () => {
  const compute = await createSandboxDriver({ dataDir: mkdtempSync('/tmp/berth-lat-'), log: pino({ level: 'warn' }) })
  const never = new AbortController().signal
  const hand: number[] = []
  for (let i = 0; i < 5; i++) {
    const id = `hand-${i}`
    const t = performance.now()
    await compute.create({ id, hostname: id, image: { id: 'x', docker: null, sandbox: { userland: 'host' } }, cpu_count: 1, memory_mb: 512, disk_gb: 5, gpu_uuids: [], env: {}, command: null, ports: [] }, never)
    await compute.start(id, never)
    await compute.exec(id, ['true'])
    hand.push(performance.now() - t)
    await compute.remove(id, never)
  }
  const gw = await startGateway({ compute })
  const { userId, token } = await gw.signUp()
  await gw.grant(userId, 10000)
  const took: number[] = []
  for (let i = 0; i < 5; i++) {
    const t = performance.now()
    const { instance_id } = await gw.data(deployInstance, { body: deployBody() } as never, { token, idempotencyKey: randomUUID() })
    for (;;) {
      const list = await gw.data(listInstances, {} as never, { token })
      const one = list.find(x => x.instance_id === instance_id)
      if (one?.status === 'running') break
      if (one?.status === 'error') throw new Error(JSON.stringify(one))
      await new Promise(r => setTimeout(r, 5))
    }
    took.push(performance.now() - t)
    const t2 = performance.now()
    await gw.data(terminateInstance, { params: { id: instance_id } } as never, { token })
    for (;;) {
      const list = await gw.data(listInstances, {} as never, { token })
      if (list.length === 0) break
      await new Promise(r => setTimeout(r, 5))
    }
    console.log('terminate', Math.round(performance.now() - t2))
  }
  console.log('by hand', hand.map(Math.round), 'deploy', took.map(Math.round))
  await gw.stop()
  await compute.shutdown()
}, 60000)
