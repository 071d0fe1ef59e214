import type { V1Pod, V1Secret } from '@kubernetes/client-node'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { expectCode, never } from '../conformance/tools.ts'
import { digestOf, makeImage, makeIndex, startRegistry } from '../oci/registry-fixture.ts'
import type { RegistryLogin } from '../port/registry-access.ts'
import { KubeRefusal } from './kube-errors.ts'
import { createKubeImages } from './kube-images.ts'
import type { Asked, KubeLink } from './kube-link.ts'
import { createNames } from './kube-names.ts'
import { createKubeNodes } from './kube-nodes.ts'
import { createKubeObjects } from './kube-objects.ts'
import { createTenantNamespaces } from './tenant-namespaces.ts'

const cloudId = 'cloud'
const names = createNames(cloudId)
const OLD = makeImage([], { Cmd: ['old'] })
const NEW = makeImage([], { Cmd: ['new'] })
let registry: Awaited<ReturnType<typeof startRegistry>>

beforeAll(async () => {
  registry = await startRegistry(OLD)
})
afterAll(() => registry.close())
beforeEach(() => registry.does(() => false))

/** As much of an API server as images ask of one: it keeps what is applied, and its node has each image at once. */
function openCluster({ customerImages = true } = {}) {
  const kept = new Map<string, Record<string, unknown>>()
  const pods: V1Pod[] = []
  const owned: [string, unknown][] = []
  async function json(method: string, path: string, { body, contentType }: Asked = {}): Promise<unknown> {
    if (path === '/api/v1/nodes') return { items: [] }
    if (method === 'POST') return { status: { userInfo: { username: 'berth' } } }
    if (path.endsWith('/serviceaccounts/default')) return {}
    if (contentType?.includes('strategic-merge') && kept.has(path)) {
      owned.push([path, (body as V1Secret).metadata?.ownerReferences?.[0]?.name])
    } else if (method === 'PATCH' && !contentType?.includes('strategic-merge')) {
      const made = structuredClone(body) as Record<string, unknown>
      if (path.includes('/pods/')) {
        pods.push(structuredClone(made) as V1Pod)
        made.status = { containerStatuses: [{ imageID: 'here' }] }
      }
      kept.set(path, made)
    } else if (method === 'DELETE') {
      kept.delete(path)
      return {}
    }
    const found = kept.get(path)
    if (!found) throw new KubeRefusal(404, 'NotFound', path)
    return found
  }
  const link = { json } as unknown as KubeLink
  const objects = createKubeObjects({ link, names, cloudId })
  const nodes = createKubeNodes({ link, objects, gpuLabel: 'nvidia.com/gpu.product', selector: {} })
  const namespaces = createTenantNamespaces({
    ...{ link, objects, names, cloudId, quota: {}, opened: [], gatewayNamespace: null },
    log: pino({ level: 'silent' }),
  })
  const made = createKubeImages({
    ...{ link, objects, names, cloudId, nodes, namespaces, customerImages, registry: null },
    makeOwn: () => {
      throw new Error('there is no registry for images of its own')
    },
  })
  const recipe = (owner?: string) => ({
    id: 'image',
    parts: { kubernetes: registry.reference },
    ...(owner !== undefined && { owner }),
  })
  return {
    ...made,
    recipe,
    pods,
    owned,
    pull: (owner?: string, login: RegistryLogin | null = null) =>
      made.images.pull(
        recipe(owner),
        () => undefined,
        never,
        async () => ({ login, ca: null, also: [] }),
      ),
    /** What secrets say, by their places. */
    logins: () =>
      [...kept].flatMap(([path, { data }]) =>
        path.includes('/secrets/pull-')
          ? [{ path, said: atob((data as Record<string, string>)['.dockerconfigjson'] ?? '') }]
          : [],
      ),
  }
}

describe('what a node pulls is what was looked at', () => {
  const nameOf = () => registry.reference.replace(/:1$/, '')

  test('whatever becomes of its tag afterwards', async () => {
    const { pull, pods, factsOf, recipe } = openCluster()
    await pull('anna')
    const pinned = `${nameOf()}@${digestOf(OLD.manifest)}`
    registry.does(({ url = '' }, response) => {
      if (!url.endsWith('/manifests/1')) return false
      response.end(NEW.manifest)
      return true
    })
    expect(pods.map(({ spec }) => spec?.containers[0]?.image)).toEqual([pinned])
    expect(await factsOf(recipe('anna'), 'anna')).toMatchObject({ reference: pinned, command: ['old'] })
  })

  test.each([
    ['one image of it, where a customer named it', 'anna', () => digestOf(OLD.manifest)],
    ['all of it, where the operator named it', undefined, () => digestOf(makeIndex(OLD))],
  ])('of an index of several: %s', async (_, owner, digest) => {
    registry.does(({ url = '' }, response) => {
      if (!url.endsWith('/manifests/1')) return false
      response.end(makeIndex(OLD))
      return true
    })
    const { pull, pods } = openCluster()
    await pull(owner)
    expect(pods[0]?.spec?.containers[0]?.image).toBe(`${nameOf()}@${digest()}`)
  })
})

describe('logins at one registry', () => {
  test('are apart: the operator’s, each customer’s, and each of one customer’s', async () => {
    const { pull, factsOf, recipe, logins } = openCluster()
    await pull(undefined, { username: 'cloud', password: 'of the operator' })
    await pull('anna', { username: 'anna', password: 'of anna' })
    const own = await factsOf(recipe('anna'), 'anna')
    await pull('anna', { username: 'work', password: 'of her work' })
    const work = await factsOf(recipe('anna'), 'anna')
    const lent = await factsOf(recipe(), 'anna')
    expect(new Set([own, work, lent].map(({ pull_secret }) => pull_secret)).size).toBe(3)
    const saidIn = (name: string | null) =>
      logins().find(({ path }) => path === `/api/v1/namespaces/${names.namespace('anna')}/secrets/${name}`)
        ?.said
    expect(saidIn(own.pull_secret)).toContain('of anna')
    expect(saidIn(work.pull_secret)).toContain('of her work')
    expect(saidIn(lent.pull_secret)).toContain('of the operator')
  })

  test('go with the last machine that needs them, but for the operator’s own copy', async () => {
    const { pull, factsOf, recipe, ownLogin, owned } = openCluster()
    await pull('anna', { username: 'anna', password: 'x' })
    const { pull_secret } = await factsOf(recipe('anna'), 'anna')
    const diskIn = (namespace: string) => ({ metadata: { name: 'm-one', namespace, uid: 'u' } })
    const hers = diskIn(names.namespace('anna'))
    expect(await ownLogin(hers, pull_secret ?? '')).toBe(true)
    expect(owned).toEqual([[`/api/v1/namespaces/${names.namespace('anna')}/secrets/${pull_secret}`, 'm-one']])
    expect(await ownLogin(hers, 'pull-gone')).toBe(false)
    expect(await ownLogin(diskIn(names.namespace(undefined)), pull_secret ?? '')).toBe(true)
    expect(owned).toHaveLength(1)
  })
})

test('an image that a customer names is refused before its registry is asked, unless the operator takes those', async () => {
  const { pull, pods, images, recipe } = openCluster({ customerImages: false })
  await expectCode(pull('anna'), 'image_not_allowed')
  expect(images.lackFor(recipe('anna'))).toContain('customer_images')
  expect([registry.asked, pods]).toEqual([[], []])
  await pull()
  expect(pods).toHaveLength(1)
})
