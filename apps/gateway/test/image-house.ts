import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Call, CallInput } from '@berth/contract/call'
import { customImages } from '@berth/contract/images'
import { deployInstance, listInstances } from '@berth/contract/instances'
import { afterAll, beforeAll, expect } from 'vitest'
import { deployBody } from '../src/domains/instances/instances-fixture.ts'
import { eventually } from '../src/drivers/compute/conformance/tools.ts'
import type { Engine } from '../src/drivers/compute/port/engine.ts'
import { offered } from '../src/drivers/compute/port/part.ts'
import { createLayoutFolder } from '../src/drivers/image-store/layout/layout-folder.ts'
import type { LayoutStore } from '../src/drivers/image-store/port.ts'
import type { Catalogue } from '../src/platform/config/catalogue.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

export const HOUSE_MS = 240_000

export interface Opened {
  engine: Engine
  catalogue: Catalogue
  /** Registries that may be asked although they are here. */
  privateRegistries?: string[]
  /** By which hosts of repositories are believed. */
  gitAuthority?: string
  end(): Promise<void>
}

/** A gateway over an engine and a store in folders of its own, and a customer with money. */
export function useHouse(open: (folder: string) => Promise<Opened>) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-customers-images-'))
  const storeDir = join(folder, 'store')
  let opened: Opened
  let gateway: TestGateway
  let store: LayoutStore
  let token: string
  beforeAll(async () => {
    opened = await open(folder)
    store = createLayoutFolder(storeDir, { bytes_max: 2 ** 40, free_bytes_min: 0 })
    // Its machines are removed at the end, when nobody looks after them any more.
    const compute = Object.create(opened.engine, { shutdown: { value: async () => [] } }) as Engine
    const { catalogue, privateRegistries = [], gitAuthority = null } = opened
    gateway = await startGateway({ compute, catalogue, imageStore: store, privateRegistries, gitAuthority })
    const customer = await gateway.signUp()
    token = customer.token
    await gateway.grant(customer.userId, 100_000)
  }, HOUSE_MS)
  afterAll(async () => {
    await gateway?.stop()
    if (opened) {
      for (const id of await onEngine(opened.engine)) await offered(opened.engine.images.own).delete(id)
      await opened.end()
    }
    rmSync(folder, { recursive: true, force: true })
  }, HOUSE_MS)

  const data = <C extends Call>(call: C, input: CallInput<C>) => gateway.data(call, input, { token })
  const statusOf = async (id: string) =>
    (await data(listInstances, {})).find(({ instance_id }) => instance_id === id)?.status
  const becomes = (id: string, status: string | undefined) =>
    eventually(async () => expect(await statusOf(id)).toBe(status))
  return () => ({
    ...{ engine: opened.engine, gateway, store, storeDir, data, statusOf, becomes },
    own: () => offered(opened.engine.images.own),
    image: async (id: string) => (await data(customImages, {})).find(one => one.id === id),
    async running(change: Parameters<typeof deployBody>[0]): Promise<string> {
      const { instance_id } = await data(deployInstance, { body: deployBody(change) })
      await becomes(instance_id, 'running')
      return instance_id
    },
    refused: async <C extends Call>(call: C, input: CallInput<C>) =>
      (await gateway.call(call, input, { token })).envelope,
    async refusal<C extends Call>(call: C, input: CallInput<C>): Promise<string> {
      const { envelope } = await gateway.call(call, input, { token })
      if (envelope.status === 'ok') return 'ok'
      const [field] = envelope.fields ?? []
      return field ? `${field.path} ${field.rule}` : envelope.code
    },
  })
}

/** What an engine has of images that are kept. */
export async function onEngine({ images }: Engine): Promise<string[]> {
  return (await offered(images.own).list()).map(({ id }) => id)
}
