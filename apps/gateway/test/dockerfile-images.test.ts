import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { gzipSync } from 'node:zlib'
import { getBuildLog } from '@berth/contract/images'
import { terminateInstance } from '@berth/contract/instances'
import { cancelImageBuild, createImage, deleteImage } from '@berth/contract/own-images'
import { addRegistryCredential, removeRegistryCredential } from '@berth/contract/registries'
import Docker from 'dockerode'
import { describe, expect, test } from 'vitest'
import { imageDetails } from '../src/domains/images/images-fixture.ts'
import { eventually, text } from '../src/drivers/compute/conformance/tools.ts'
import {
  isInstalled,
  makeImage,
  packOdd,
  startRegistry,
} from '../src/drivers/compute/oci/registry-fixture.ts'
import { programsLayer } from '../src/drivers/compute/sandbox/programs-layer-fixture.ts'
import { startGitServer } from './git-server.ts'
import { HOUSE_MS, onEngine, useHouse } from './image-house.ts'
import { REAL_ENGINES } from './real-engines.ts'

const docker = REAL_ENGINES.find(({ name }) => name === 'Docker')
const missing = docker?.missing ?? (isInstalled('git') ? null : 'git is not installed')
if (missing) process.stdout.write(`SKIP images of a Dockerfile: ${missing}\n`)

// Goal: a Dockerfile that is pasted or lies in a repository becomes an image that instances are made of, and what a stranger
// does with one harms nobody. Method: a whole gateway over HTTP, a real Docker, a registry and a git host of our own.
describe.skipIf(missing)('images of a Dockerfile', () => {
  let registry: Awaited<ReturnType<typeof startRegistry>>
  let other: Awaited<ReturnType<typeof startRegistry>>
  let git: Awaited<ReturnType<typeof startGitServer>>
  const house = useHouse(async folder => {
    const opened = await docker?.open(folder)
    if (!opened) throw new Error('there is no Docker')
    const layer = { bytes: gzipSync(await programsLayer(folder), { level: 1 }), packing: '+gzip' as const }
    registry = await startRegistry(makeImage([layer], { Env: ['PATH=/usr/bin:/bin'] }))
    const small = { bytes: packOdd([{ name: 'other', content: 'from another' }]), packing: '' as const }
    other = await startRegistry(makeImage([small]))
    git = await startGitServer(folder, {
      Dockerfile: 'FROM scratch\nENV ROOT=1',
      'services/api/Dockerfile': `FROM ${registry.reference}\nCOPY . /srv/\nRUN cat /srv/src/file /srv/link > /both`,
      'services/api/src/file': 'deep\n',
      'services/api/link': '-> src/file',
      'broken/Dockerfile': 'NOTHING here',
    })
    return {
      ...opened,
      privateRegistries: [registry.host, other.host, git.host],
      gitAuthority: git.authorityFile,
      async end() {
        await opened.end()
        for (const { reference, close } of [registry, other]) {
          await new Docker()
            .getImage(reference)
            .remove({ force: true })
            .catch(() => undefined)
          close()
        }
        git.close()
      },
    }
  })

  const body = (source: object) => ({ body: { ...imageDetails, ...source } })
  const ended = (id: string) =>
    eventually(async () => {
      const found = await house().image(id)
      expect(found?.status).not.toBe('building')
      return found
    })
  const logOf = async (id: string) => (await house().data(getBuildLog, { params: { id } })).lines.join('\n')

  test(
    '[R1.2] one that is pasted is followed live, kept, charged, and runs',
    async () => {
      const { data, engine, running, becomes, image, store, gateway } = house()
      const file = `FROM ${registry.reference}\nRUN printf '\\033[31mred\\033[0m\\rshown\\n'; echo made > /made\nRUN until test -e /made.none; do sleep 0.2; echo waits; test $(wc -l < /made) = 1 && break; done`
      const { id } = await data(createImage, body({ dockerfile: file }))
      await eventually(async () => expect((await image(id))?.progress?.build_steps).not.toBeNull())
      expect((await ended(id))?.status).toBe('private')
      const log = await data(getBuildLog, { params: { id } })
      expect(log).toMatchObject({ skipped: 0, more: false, next: log.lines.length })
      expect(log.lines).toContain('shown')
      expect(log.lines).toContain('waits')
      expect(log.lines.join('')).not.toContain('\u001b')
      expect(await data(getBuildLog, { params: { id }, query: { after: log.next - 1 } })).toMatchObject({
        lines: log.lines.slice(-1),
      })
      expect(await image(id)).toMatchObject({
        micro_per_day: '1700',
        source: { dockerfile: file, git: null },
      })
      const instance = await running({ image_id: id })
      expect(await text(engine, instance, 'cat /made')).toBe('made\n')
      await data(terminateInstance, { params: { id: instance } })
      await becomes(instance, undefined)
      // Its layers below are those of the registry's image: the same again keeps no byte more of them.
      const { images } = await store.sizes()
      const again = await data(createImage, body({ dockerfile: `FROM ${registry.reference}` }))
      expect((await ended(again.id))?.status).toBe('private')
      const sizes = await store.sizes()
      expect(sizes.images.size).toBe(images.size + 1)
      expect(sizes.bytes).toBeLessThan(
        [...sizes.images.values()].reduce((sum, one) => sum + one.size_bytes, 0) * 0.6,
      )
      for (const one of [id, again.id]) await data(deleteImage, { params: { id: one } })
      await eventually(async () => {
        await gateway.gateway.images.run(new AbortController().signal)
        expect(await onEngine(engine)).toEqual([])
        expect((await store.sizes()).images.size).toBe(0)
      })
      expect(await gateway.gateway.billing.checkBooks()).toEqual([])
    },
    HOUSE_MS,
  )

  test(
    '[R1.2] one in a folder of a repository has the files beside it, by branch, tag or the repository’s own',
    async () => {
      const { data, engine, running, becomes } = house()
      const { id } = await data(
        createImage,
        body({ git: { url: git.url, ref: 'v1', folder: 'services/api' } }),
      )
      const made = await ended(id)
      expect(made, await logOf(id)).toMatchObject({ status: 'private' })
      const instance = await running({ image_id: id })
      expect(await text(engine, instance, 'cat /both; ls -A /srv | sort | tr "\\n" " "')).toBe(
        'deep\ndeep\nDockerfile link src ',
      )
      await data(terminateInstance, { params: { id: instance } })
      await becomes(instance, undefined)
      await data(deleteImage, { params: { id } })
      expect(readdirSync(tmpdir()).filter(name => name.startsWith('berth-git-'))).toEqual([])
    },
    HOUSE_MS,
  )

  test(
    '[R6.4] a credential is shown to its own registry, and to no other that the file names',
    async () => {
      const { data, image } = house()
      registry.does((request, response) => {
        if (request.headers.authorization === `Basic ${btoa('ada:harbour')}`) return false
        response.writeHead(401, { 'www-authenticate': 'Basic realm="harbour"' }).end()
        return true
      })
      try {
        const dockerfile = `FROM ${registry.reference}\nCOPY --from=${other.reference} /other /other`
        const { id: credential } = await data(addRegistryCredential, {
          body: { name: 'harbour', registry: registry.host, username: 'ada', password: 'harbour' },
        })
        const { id } = await data(createImage, body({ dockerfile, registry_credential_id: credential }))
        await ended(id)
        expect(await image(id), await logOf(id)).toMatchObject({ status: 'private' })
        expect(registry.asked.some(({ authorization }) => authorization !== undefined)).toBe(true)
        expect(other.asked.length).toBeGreaterThan(0)
        expect(other.asked.filter(({ authorization }) => authorization !== undefined)).toEqual([])
        await data(deleteImage, { params: { id } })
        await data(removeRegistryCredential, { params: { id: credential } })
      } finally {
        registry.does(() => false)
      }
    },
    HOUSE_MS,
  )

  test(
    '[R8.1] [B7] what cannot be followed is said at its field, or fails with its own reason and costs nothing',
    async () => {
      const { data, refusal, image } = house()
      const pasted = (dockerfile: string) => refusal(createImage, body({ dockerfile }))
      const third = body({ dockerfile: 'FROM scratch\nENV A=1\nADD a b' })
      expect(await house().refused(createImage, third)).toMatchObject({
        code: 'dockerfile_invalid',
        msg: expect.stringMatching(/^Line 3 /),
      })
      expect(await pasted('RUN true')).toBe('dockerfile not_allowed')
      expect(await pasted(`FROM ${registry.host}/t/image:none`)).toBe('dockerfile image_not_found')
      expect(await pasted('FROM 127.0.0.1:1/a:1')).toBe('dockerfile registry_host_private')
      expect(await refusal(createImage, body({ dockerfile: 'FROM scratch', git: { url: git.url } }))).toBe(
        'git not_allowed',
      )
      for (const url of [
        'file:///etc',
        'http://example.org/a',
        'ssh://git@example.org/a',
        'https://u:p@example.org/a',
      ])
        expect(await refusal(createImage, body({ git: { url } }))).toBe('git.url git_url')
      expect(await refusal(createImage, body({ git: { url: git.url, ref: '--upload-pack=x' } }))).toBe(
        'git.ref not_allowed',
      )
      expect(await refusal(createImage, body({ git: { url: git.url, folder: '../x' } }))).toBe(
        'git.folder not_allowed',
      )
      const fails = async (source: object) => {
        const { id } = await data(createImage, body(source))
        await ended(id)
        const found = await image(id)
        expect(found).toMatchObject({ status: 'failed', cost_micro: '0', size: 0, source })
        const log = await logOf(id)
        await data(deleteImage, { params: { id } })
        return `${found?.reason?.code} ${log}`
      }
      expect(await fails({ dockerfile: `FROM ${registry.reference}\nRUN echo so far; exit 7` })).toMatch(
        /^step_failed [\s\S]*so far[\s\S]*code 7/,
      )
      expect(await fails({ git: { url: git.url, ref: '', folder: 'broken' } })).toMatch(
        /^dockerfile_invalid [\s\S]*Line 1/,
      )
      expect(await fails({ git: { url: git.url, ref: 'nowhere', folder: '' } })).toMatch(/^git_failed /)
      expect(await fails({ git: { url: git.url, ref: '', folder: 'none' } })).toMatch(/^git_failed /)
    },
    HOUSE_MS,
  )

  test(
    '[R6.4] a repository leads neither to this computer nor, by a redirect, into its network',
    async () => {
      const { data } = house()
      const fails = async (url: string) => {
        const { id } = await data(createImage, body({ git: { url, ref: '', folder: '' } }))
        expect(await ended(id)).toMatchObject({ status: 'failed', reason: { code: 'git_failed' } })
        await data(deleteImage, { params: { id } })
      }
      let asked = 0
      const secret = createServer((_, answer) => {
        answer.end('secret')
      })
        .on('connection', () => {
          asked += 1
        })
        .listen(0, '127.0.0.1')
      await once(secret, 'listening')
      const address = secret.address()
      const inside = `127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
      await fails(`https://${inside}/a.git`)
      await fails('https://localhost/a.git')
      git.redirect(`https://${inside}`)
      await fails(git.url)
      git.redirect(`http://${inside}`)
      await fails(git.url)
      git.redirect(null)
      secret.close()
      expect(asked).toBe(0)
    },
    HOUSE_MS,
  )

  test(
    '[R1.2] one that is given up ends at once and leaves nothing',
    async () => {
      const { data, engine, gateway } = house()
      const { id } = await data(
        createImage,
        body({
          dockerfile: `FROM ${registry.reference}\nRUN echo first > /first\nRUN echo begun; sleep 1000`,
        }),
      )
      await eventually(async () => expect(await logOf(id)).toContain('\nbegun'))
      expect(await data(cancelImageBuild, { params: { id } })).toMatchObject({
        status: 'failed',
        reason: { code: 'build_canceled' },
      })
      await eventually(async () => {
        await gateway.gateway.images.run(new AbortController().signal)
        expect(await onEngine(engine)).toEqual([])
        expect((await engine.machines.list()).map(one => one.id)).not.toContain(id)
      })
      await data(deleteImage, { params: { id } })
    },
    HOUSE_MS,
  )
})
