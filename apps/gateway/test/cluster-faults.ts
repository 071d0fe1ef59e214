import { randomBytes } from 'node:crypto'
import { PassThrough } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { smallMachine } from '../src/drivers/compute/conformance/small-machine.ts'
import { expectCode, never, text } from '../src/drivers/compute/conformance/tools.ts'
import {
  awaitNode,
  killPart,
  kubectl,
  NODE,
  type TestCluster,
} from '../src/drivers/compute/kubernetes/cluster-fixture.ts'
import { createKubeEngine } from '../src/drivers/compute/kubernetes/kube-engine.ts'
import type { Engine } from '../src/drivers/compute/port/engine.ts'

const ETCD = 'http://127.0.0.1:2379'
/** A node is given up some 45 seconds after its last sign of life, and what ran on one that is gone within a minute and a half. */
const POLL = { timeout: 240_000, interval: 1_000 }
const TEST_MS = 900_000

/**
 * What becomes of machines when parts of a cluster die that take minutes to be missed.
 * @param awayS How long the API server is away, in seconds.
 */
export function describeOutages(cluster: () => TestCluster, cloudId: string, awayS: number): void {
  describe('when parts of the cluster die', { timeout: TEST_MS }, () => {
    const lines: string[] = []
    const heard: string[] = []
    const made: string[] = []
    let engine: Engine

    beforeAll(async () => {
      const written = new PassThrough().on('data', line => lines.push(String(line)))
      const { place, terms } = cluster()
      const log = pino({ level: 'debug' }, written)
      engine = await createKubeEngine({ place, terms, cloudId, egress: null, log })
      engine.observation.watch(id => heard.push(id))
    })
    // The node has room for two.
    afterEach(async () => {
      for (const id of made.splice(0)) await engine.machines.remove(id, never)
    }, TEST_MS)
    afterAll(() => engine?.shutdown())

    async function running(): Promise<string> {
      const id = `o-${randomBytes(5).toString('hex')}`
      made.push(id)
      await engine.machines.create(smallMachine(id, cluster().image), never)
      await engine.machines.start(id, never)
      await text(engine, id, 'echo kept > ~/file; echo here > /tmp/file')
      return id
    }
    const stateOf = (id: string) =>
      engine.observation.status(id).then(
        ({ state }) => state as string,
        (error: { code?: string }) => error.code ?? String(error),
      )
    const uidOf = async (id: string) =>
      kubectl('get', 'pods', '-A', '-l', `berth.instance=${id}`, '-o', 'jsonpath={.items[*].metadata.uid}')

    test('an API server that is away says nothing of machines; they run on, and a compacted history is listed anew', async () => {
      const id = await running()
      const uid = await uidOf(id)
      const revive = await killPart('kube-apiserver')
      await expectCode(engine.size(), 'engine_unavailable')
      await expectCode(engine.machines.stop(id, never), 'engine_unavailable')
      await compact()
      lines.length = 0
      heard.length = 0
      for (let left = awayS; left > 0; left--) {
        expect(await stateOf(id)).toBe('engine_unavailable')
        await sleep(1_000)
      }
      expect(heard).toEqual([])
      await revive()
      await expect.poll(() => stateOf(id), POLL).toBe('running')
      await expect.poll(() => heard, POLL).toContain(id)
      expect(lines.join('')).toContain('a watch is listed anew')
      expect(await uidOf(id)).toBe(uid)
      await expect.poll(() => text(engine, id, 'cat /tmp/file').catch(String), POLL).toBe('here\n')
    })

    test('a kubelet that dies makes its machines unknown, and one that comes back finds them running', async () => {
      const id = await running()
      const uid = await uidOf(id)
      const revive = await killPart('kubelet')
      await expect.poll(() => stateOf(id), POLL).toBe('engine_unavailable')
      // The engine itself is there.
      await engine.machines.list()
      await revive()
      await expect.poll(() => stateOf(id), POLL).toBe('running')
      expect(await uidOf(id)).toBe(uid)
      await expect.poll(() => text(engine, id, 'cat /tmp/file').catch(String), POLL).toBe('here\n')
      await awaitNode()
    })

    test('a machine whose node is gone is stopped, says so, and starts again with its disk', async () => {
      const id = await running()
      heard.length = 0
      const revive = await killPart('kubelet')
      await kubectl('delete', 'node', NODE)
      await expect.poll(() => stateOf(id), POLL).toBe('stopped')
      expect(await engine.observation.status(id)).toMatchObject({ cause: 'node_lost' })
      expect(heard).toContain(id)
      await revive()
      await expect.poll(() => kubectl('get', 'nodes', '-o', 'name'), POLL).toContain(NODE)
      await awaitNode()
      await engine.machines.start(id, never)
      expect(await text(engine, id, 'cat ~/file')).toBe('kept\n')
    })
  })
}

/** Has etcd forget all but what is so now. */
async function compact(): Promise<void> {
  const ask = async (path: string, body: object) => {
    const answer = await fetch(ETCD + path, { method: 'POST', body: JSON.stringify(body) })
    return (await answer.json()) as { header?: { revision: string }; error?: string }
  }
  const { header } = await ask('/v3/kv/range', { key: Buffer.from('none').toString('base64') })
  const { error } = await ask('/v3/kv/compaction', { revision: header?.revision, physical: true })
  if (error !== undefined) throw new Error(error)
}
