import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import Docker from 'dockerode'
import pino from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { readLayout } from '../../../platform/image-layout/read-layout.ts'
import { tarHeader, tarPadding } from '../../../platform/tar/tar-writer.ts'
import { gathered } from '../conformance/archives.ts'
import { smallMachine } from '../conformance/small-machine.ts'
import { describeWhere, eventually, never, text } from '../conformance/tools.ts'
import { makeImage, startRegistry } from '../oci/registry-fixture.ts'
import { parseDockerfile } from '../port/dockerfile.ts'
import type { Engine } from '../port/engine.ts'
import type { DockerfileBuild } from '../port/images.ts'
import { offered } from '../port/part.ts'
import { asNobody } from '../port/registry-access.ts'
import { programsLayer } from '../sandbox/programs-layer-fixture.ts'
import { buildMark } from './build-leftovers.ts'
import { createNames, machineOf } from './container-plan.ts'
import { createDockerEngine } from './docker-engine.ts'
import { ownReference } from './docker-recipe.ts'
import { probeDocker } from './probe-docker.ts'

const log = pino({ level: 'silent' })
const probe = await probeDocker()
const TEST_MS = 120_000

// Goal: a stranger's Dockerfile gives the image that it says, its steps run within a machine's walls, and whatever ends it
// leaves nothing. Method: a real Docker, a registry of our own, and this computer's own programs as the image to begin with.
describeWhere('builds of Dockerfiles', probe, () => {
  describe('builds of Dockerfiles', () => {
    const socketPath = probe.ok ? probe.socket_path : ''
    const cloudId = `test-${randomBytes(4).toString('hex')}`
    const docker = new Docker({ socketPath })
    const names = createNames(cloudId)
    const folder = mkdtempSync(join(tmpdir(), 'berth-builds-'))
    const ids: string[] = []
    let registry: Awaited<ReturnType<typeof startRegistry>>
    let engine: Engine
    let base = ''

    beforeAll(async () => {
      const layer = { bytes: gzipSync(await programsLayer(folder), { level: 1 }), packing: '+gzip' as const }
      registry = await startRegistry(makeImage([layer], { Env: ['PATH=/usr/bin:/bin', 'FROM_BASE=yes'] }))
      base = registry.reference
      const place = { kind: 'unix', socket_path: socketPath } as const
      engine = await createDockerEngine({ place, cloudId, egress: null, log })
    }, TEST_MS)
    afterEach(async () => {
      const own = offered(engine.images.own)
      for (const id of ids.splice(0)) {
        await engine.machines.remove(id, never)
        await own.delete(id)
      }
      expect(await own.list()).toEqual([])
      const filters = { label: [buildMark.label] }
      const mine = (labels: Record<string, string> | undefined) =>
        labels?.[buildMark.label]?.startsWith(buildMark.of(cloudId, '')) === true
      expect((await docker.listContainers({ all: true, filters })).filter(one => mine(one.Labels))).toEqual(
        [],
      )
      expect((await docker.listImages({ all: true, filters })).filter(one => mine(one.Labels))).toEqual([])
    })
    afterAll(async () => {
      await docker.getNetwork(names.network).remove()
      await docker.getImage(base).remove({ force: true })
      registry.close()
      rmSync(folder, { recursive: true, force: true })
    })

    /** Builds it, and gives what was told meanwhile. */
    async function build(file: string, more: Partial<DockerfileBuild> = {}, signal = never) {
      const image_id = `im-${randomBytes(4).toString('hex')}`
      ids.push(image_id)
      let told = ''
      const what: DockerfileBuild = {
        image_id,
        stages: parseDockerfile(file),
        owner: 'somebody',
        access: asNobody,
        context: null,
        limits: { cpu_count: 1, memory_mb: 256, disk_gb: 1 },
        onStep: () => undefined,
        ...more,
        onLog: said => {
          told += said
          more.onLog?.(said)
        },
      }
      const failure = await offered(engine.images.dockerfile)
        .build(what, signal)
        .then(
          () => null,
          (error: unknown) => error,
        )
      return { id: image_id, told, failure: failure as (Error & { code?: string }) | null }
    }

    /** What an image says of itself when it leaves the engine. */
    async function leavingOf(id: string) {
      let config = ''
      let digest = ''
      for await (const part of readLayout(offered(engine.images.own).save(id, never))) {
        if ('image' in part) digest = part.image.manifest.config.digest
        else if (part.blob.digest === digest) config = (await gathered(part.bytes)).toString()
      }
      return JSON.parse(config).config as Record<string, unknown>
    }

    async function inspect(id: string) {
      const { repo, tag } = ownReference(cloudId, id)
      return docker.getImage(`${repo}:${tag}`).inspect()
    }

    test(
      '[R1.2] stages, arguments, files and what an image says of itself come out as the file has them, and a machine runs it',
      async () => {
        const { id, told, failure } = await build(
          `ARG VERSION=1.2
FROM ${base} AS maker
ARG VERSION
ARG GREETING="hello $VERSION"
COPY --chown=1000 in/ /work/
RUN echo "$GREETING" > /work/greeting; \\
    # a comment
    cat /work/data/file >> /work/greeting
FROM ${base}
WORKDIR /srv/app
ENV MODE=fast
ARG MODE=slow
ARG GONE=later
COPY --from=maker /work/greeting ./
COPY . /all/
RUN <<EOF
printf '%s %s\\n' "$MODE" "$(pwd)" > mode
ls -A /all > listed
EOF
RUN ["sh", "-c", "echo $FROM_BASE > base"]
USER 1000
ENTRYPOINT ["sh", "-c"]
CMD ["sleep 1000"]
`,
          { context: () => tree({ 'in/data/file': 'deep\n', Dockerfile: 'FROM x', '.dockerignore': '*' }) },
        )
        expect(failure).toBeNull()
        expect(told).toContain('RUN ["sh", "-c", "echo $FROM_BASE > base"]')
        const { Config } = await inspect(id)
        expect(Config).toMatchObject({ User: '1000', WorkingDir: '/srv/app', Entrypoint: ['sh', '-c'] })
        const leaving = await leavingOf(id)
        expect(leaving.Env).toEqual(['PATH=/usr/bin:/bin', 'FROM_BASE=yes', 'MODE=fast'])
        expect(leaving).toMatchObject({ User: '1000', Entrypoint: ['sh', '-c'], Cmd: ['sleep 1000'] })
        const machine = `t-${randomBytes(4).toString('hex')}`
        const image = { id, parts: { docker: { own: id } } }
        await engine.machines.create(smallMachine(machine, image), never)
        await engine.machines.start(machine, never)
        expect(
          await text(
            engine,
            machine,
            'cd /srv/app; cat greeting mode listed base; echo $MODE \u0024{GONE-none}',
          ),
        ).toBe('hello 1.2\ndeep\nfast /srv/app\nDockerfile\nin\nyes\nfast none\n')
        await engine.machines.remove(machine, never)
      },
      TEST_MS,
    )

    test(
      '[R1.2] an image that says no command has none after its steps, and none of their machine’s marks',
      async () => {
        const { id } = await build(`FROM ${base}\nARG GONE=1\nLABEL kept=yes\nRUN echo made > /made`)
        const said = await leavingOf(id)
        expect(said).toMatchObject({ Entrypoint: [], Cmd: [], Labels: { kept: 'yes' } })
        expect(said.Env).toEqual(['PATH=/usr/bin:/bin', 'FROM_BASE=yes'])
        const { Config } = await inspect(id)
        expect(machineOf(Config.Labels, cloudId)).toBeNull()
      },
      TEST_MS,
    )

    test(
      '[R6.4] [R5.5] a step runs with a machine’s walls and limits, in its network, and what ends it removes it',
      async () => {
        const end = new AbortController()
        const building = build(`FROM ${base}\nRUN echo begun; sleep 1000`, {}, end.signal)
        const container = await eventually(async () => {
          const found = await docker.getContainer(names.container(ids.at(-1) ?? '')).inspect()
          expect(found.State.Running).toBe(true)
          return found
        })
        expect(container.HostConfig).toMatchObject({
          NetworkMode: names.network,
          Memory: 256 * 2 ** 20,
          MemorySwap: 256 * 2 ** 20,
          NanoCpus: 1e9,
          PidsLimit: 4096,
          SecurityOpt: ['no-new-privileges'],
        })
        expect(container.HostConfig.CapDrop).toContain('NET_RAW')
        end.abort(new Error('enough'))
        expect((await building).failure).not.toBeNull()
        await expect(docker.getContainer(container.Id).inspect()).rejects.toMatchObject({ statusCode: 404 })
      },
      TEST_MS,
    )

    test.each([
      ['RUN echo seen; exit 3', 'step_failed', 'code 3'],
      [`RUN perl -e '$x = "y" x 400000000; sleep 9'`, 'step_failed', '256 MB'],
      ['RUN fallocate -l 1300M /big; sleep 1000', 'too_large', 'a step wrote more than 1 GB'],
      ['COPY x /x', 'step_failed', 'nothing to copy from'],
      ['COPY --from=first /nothing /x\nRUN true', 'step_failed', 'nothing'],
    ])(
      '%s ends with a clear code, and nothing is kept',
      async (step, code, words) => {
        const { failure, id } = await build(`FROM ${base} AS first\nFROM ${base}\nRUN echo 1 > /1\n${step}`)
        expect(failure).toMatchObject({ code })
        expect(failure?.message).toContain(words)
        await expect(inspect(id)).rejects.toMatchObject({ statusCode: 404 })
      },
      TEST_MS,
    )

    test(
      '[R6.4] another customer’s image that is here is not had by its name',
      async () => {
        const other = await build(`FROM ${base}\nRUN echo secret > /secret`)
        const { repo, tag } = ownReference(cloudId, other.id)
        for (const file of [`FROM ${repo}:${tag}`, `FROM ${base}\nCOPY --from=${repo}:${tag} /secret /`]) {
          const { failure, id } = await build(file)
          expect(failure).not.toBeNull()
          await expect(inspect(id)).rejects.toMatchObject({ statusCode: 404 })
        }
      },
      TEST_MS,
    )

    test(
      '[R1.2] what is given up amid a build is known by its image, and goes with it',
      async () => {
        const end = new AbortController()
        const { id } = await build(
          `FROM ${base}\nRUN echo kept > /kept\nRUN echo begun; sleep 1000`,
          { onLog: said => void (said === 'begun\n' && end.abort(new Error('killed'))) },
          end.signal,
        )
        const own = offered(engine.images.own)
        expect(await own.list()).toEqual([{ id, size_bytes: 0 }])
        await own.delete(id)
        expect(await own.list()).toEqual([])
      },
      TEST_MS,
    )

    async function* tree(files: Record<string, string>) {
      for (const [name, content] of Object.entries(files)) {
        const bytes = Buffer.from(content)
        yield tarHeader({ name, type: 'file', mode: 0o644, size: bytes.length })
        yield bytes
        yield tarPadding(bytes.length)
      }
    }
  })
})
