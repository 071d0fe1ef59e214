import { setTimeout as pause } from 'node:timers/promises'
import { getBalance } from '@berth/contract/billing'
import {
  checkResource,
  deployInstance,
  type Instance,
  listInstances,
  startInstance,
} from '@berth/contract/instances'
import { addRegistryCredential, removeRegistryCredential } from '@berth/contract/registries'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startGateway, type TestGateway } from '../../../../test/start-gateway.ts'
import { checkRecipeParts } from '../../../drivers/compute/check-recipe.ts'
import { computeFailure, createFakeEngine } from '../../../drivers/compute/fake/fake-engine.ts'
import type { ImageRecipe } from '../../../drivers/compute/port/images.ts'
import { partsOfReference } from '../../../drivers/compute/port/reference-parts.ts'
import type { RegistryTerms } from '../../../drivers/compute/port/registry-access.ts'
import { systemClock } from '../../../platform/clock.ts'
import { LOGIN, startRegistry, type TestRegistry } from '../../registries/registry-fixture.ts'

const DEPLOY = {
  name: 'mine',
  region_code: 'us-west',
  gpu_spec_id: 'cpu',
  gpu_count: 1,
  container_disk_gb: 20,
}
const BASIC = `Basic ${Buffer.from(`${LOGIN.username}:${LOGIN.password}`).toString('base64')}`
const DIGEST = `sha256:${'a'.repeat(64)}`
const MB = 1_024 * 1_024
const ARCHITECTURE = process.arch === 'x64' ? 'amd64' : process.arch

/** What the registry has, by path; what begins with `private` is behind a login. */
const MANIFESTS: Record<string, unknown> = {
  'open/manifests/1': { layers: [{ size: 5 * MB }, { size: 2 * MB + 1 }] },
  'open/manifests/many': {
    manifests: [
      { digest: `sha256:${'b'.repeat(64)}`, platform: { os: 'windows', architecture: ARCHITECTURE } },
      { digest: DIGEST, platform: { os: 'linux', architecture: ARCHITECTURE } },
    ],
  },
  [`open/manifests/${DIGEST}`]: { layers: [{ size: 30_000 * MB }] },
  'open/manifests/foreign': {
    manifests: [{ digest: DIGEST, platform: { os: 'linux', architecture: 'm68k' } }],
  },
  'open/manifests/odd': { layers: [{ size: -1 }] },
  'private/manifests/1': { layers: [{ size: MB }] },
}

const fake = createFakeEngine({ clock: systemClock })
const pulls: { image: ImageRecipe; terms: RegistryTerms }[] = []
let registry: TestRegistry
let gateway: TestGateway
let token: string
let userId: string

beforeAll(async () => {
  registry = await startRegistry((request, response) => {
    const path = (request.url ?? '').replace('/v2/', '')
    const answer = (status: number, body: unknown, headers: Record<string, string> = {}) =>
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
    const { authorization } = request.headers
    if (path.startsWith('private') && authorization !== BASIC) {
      return answer(401, {}, { 'www-authenticate': 'Basic realm="yard"' })
    }
    if (path.startsWith('broken')) return answer(500, {})
    return MANIFESTS[path] ? answer(200, MANIFESTS[path]) : answer(404, {})
  })
  const compute = {
    ...fake,
    driver: 'sandbox',
    images: {
      ...fake.images,
      pull: async (...[image, onProgress, signal, access]: Parameters<typeof fake.images.pull>) => {
        if (access) pulls.push({ image, terms: await access(registry.host) })
        await fake.images.pull(image, onProgress, signal)
      },
    },
  }
  gateway = await startGateway({ compute, privateRegistries: [registry.host] })
})
afterAll(async () => {
  await gateway?.stop()
  await registry?.close()
})
beforeEach(async () => {
  ;({ token, userId } = await gateway.signUp())
  await gateway.grant(userId, 1_000)
  pulls.length = 0
  fake.faults.heal()
})

const credential = async (login = LOGIN, host = registry.host) => {
  const body = { name: `yard ${Math.random()}`, registry: host, ...login }
  return (await gateway.data(addRegistryCredential, { body }, { token })).id
}
const named = (reference: string) => ({ image_reference: `${registry.host}/${reference}` })
const deploy = (image: object) =>
  gateway.call(deployInstance, { body: { ...DEPLOY, ...image } as never }, { token })
const imageCheck = async (image: object) => {
  const body = { region_code: 'us-west', gpu_spec_id: 'cpu', gpu_count: 1, container_disk_gb: 20, ...image }
  const { checks } = await gateway.data(checkResource, { body }, { token })
  return { image: checks.find(({ key }) => key === 'image'), disk: checks.find(({ key }) => key === 'disk') }
}
const until = async (id: string, isSo: (one: Instance) => boolean) => {
  for (;;) {
    const one = (await gateway.data(listInstances, {}, { token })).find(one => one.instance_id === id)
    if (one && isSo(one)) return one
    await pause(20)
  }
}

describe('[B7] an image of any registry is looked for before money moves', () => {
  test('says how large it is, for this kind of processor, and whether the disk has room for it', async () => {
    expect(await imageCheck(named('open:1'))).toMatchObject({
      image: { ok: true, code: 'image_to_pull', values: { size_mb: 8 } },
      disk: { ok: true },
    })
    expect(await imageCheck(named('open:many'))).toMatchObject({
      image: { ok: true, values: { size_mb: 30_000 } },
      disk: { ok: false, code: 'disk_too_small', values: { needed_gb: 30 } },
    })
  })

  test.each([
    ['is not there', () => named('open:2'), 'image_not_found', 'image_reference'],
    ['needs a login', () => named('private:1'), 'image_needs_login', 'image_reference'],
    ['is for other processors', () => named('open:foreign'), 'image_unfit', 'image_reference'],
    ['is no image', () => named('open:odd'), 'image_unfit', 'image_reference'],
    [
      'lies at a registry that is out of order',
      () => named('broken:1'),
      'image_registry_away',
      'image_reference',
    ],
    [
      'lies in a private network',
      () => ({ image_reference: '10.0.0.7/a:1' }),
      'registry_host_private',
      'image_reference',
    ],
    [
      'lies on this computer, where no registry was named',
      () => ({ image_reference: '127.0.0.1:1/a' }),
      'registry_host_private',
      'image_reference',
    ],
    [
      'is no reference for a registry',
      () => ({ image_reference: '127.1/a' }),
      'image_reference',
      'image_reference',
    ],
    [
      'is asked for with a credential that is nobody’s',
      () => ({ ...named('private:1'), registry_credential_id: crypto.randomUUID() }),
      'not_allowed',
      'registry_credential_id',
    ],
  ] as const)('refuses one that %s, at its field, and takes nothing', async (_what, image, rule, path) => {
    expect((await imageCheck(image())).image).toMatchObject({
      ok: false,
      code: rule,
      values: { field: path },
    })
    expect(await deploy(image())).toMatchObject({
      httpStatus: 400,
      envelope: { code: 'validation_failed', fields: [{ path, rule }] },
    })
    const { account_balance } = await gateway.data(getBalance, {}, { token })
    expect(account_balance.amount_available).toBe(1_000)
    expect(await gateway.data(listInstances, {}, { token })).toEqual([])
  })

  test('refuses a credential that the registry refuses, one for another registry, and another customer’s', async () => {
    const wrong = await credential({ ...LOGIN, password: 'wrong' })
    const other = await credential(LOGIN, 'ghcr.io')
    const mine = await credential()
    const at = (registry_credential_id: string) => ({ ...named('private:1'), registry_credential_id })
    expect((await imageCheck(at(wrong))).image?.code).toBe('image_login_refused')
    expect((await imageCheck(at(other))).image?.code).toBe('registry_mismatch')
    expect((await imageCheck(at(mine))).image).toMatchObject({ ok: true, values: { size_mb: 1 } })
    ;({ token } = await gateway.signUp())
    expect((await imageCheck(at(mine))).image?.code).toBe('not_allowed')
  })

  test('refuses no image and two, a virtual machine of a reference, and hostile references', async () => {
    const fieldOf = async (image: object) => {
      const { envelope } = await deploy(image)
      return envelope.status === 'error' ? envelope.fields?.[0]?.path : envelope.status
    }
    expect(await fieldOf({})).toBe('image_id')
    expect(await fieldOf({ ...named('open:1'), image_id: 'berth-base' })).toBe('image_reference')
    for (const image_reference of [
      '',
      'a/../b',
      'https://a.example/b',
      'a\n/b',
      'a b',
      'x'.repeat(513),
      'user@host/a',
      '-v',
    ]) {
      expect(await fieldOf({ image_reference }), image_reference).toBe('image_reference')
    }
    const vm = await deploy({ ...named('open:1'), kind: 'VM' })
    expect(vm.httpStatus).toBe(400)
  })

  test('a registry is asked once for what a form asks again and again', async () => {
    const before = registry.asked.length
    for (let time = 0; time < 3; time++) await imageCheck(named('open:1'))
    expect(registry.asked.slice(before).filter(asked => asked.includes('/open/'))).toHaveLength(1)
  })
})

describe('a machine of a reference', () => {
  test('is made for its customer alone, and its registry is shown the chosen credential', async () => {
    const registry_credential_id = await credential()
    const { instance_id } = await gateway.data(
      deployInstance,
      { body: { ...DEPLOY, ...named('private:1'), registry_credential_id } },
      { token },
    )
    const reference = `${registry.host}/private:1`
    const running = await until(instance_id, ({ status }) => status === 'running')
    expect(running).toMatchObject({ image_id: null, image_reference: reference, image_name: reference })
    expect(pulls).toEqual([
      {
        image: { id: reference, owner: userId, parts: partsOfReference(reference) },
        terms: { login: LOGIN, ca: null, also: [], is_stranger: false },
      },
    ])
    expect(checkRecipeParts(partsOfReference(reference))).toEqual([])
  })

  test('says that it lacks its credential once that is deleted, and takes another one for the registry', async () => {
    const registry_credential_id = await credential()
    fake.faults.fail('pull', computeFailure('registry_unreachable'))
    const { instance_id } = await gateway.data(
      deployInstance,
      { body: { ...DEPLOY, ...named('private:1'), registry_credential_id } },
      { token },
    )
    await until(instance_id, () => pulls.length > 0)
    await gateway.data(removeRegistryCredential, { params: { id: registry_credential_id } }, { token })
    fake.faults.heal()
    const failed = await until(instance_id, ({ status }) => status === 'error')
    expect(failed.reason?.code).toBe('image_login_gone')
    await credential()
    await gateway.data(startInstance, { body: { instance_id, gpu_count: 1, gpu_spec_id: 'cpu' } }, { token })
    await until(instance_id, ({ status }) => status === 'running')
    expect(pulls.at(-1)?.terms.login).toEqual(LOGIN)
  })
})
