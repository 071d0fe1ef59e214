import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import Docker from 'dockerode'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeWhere } from '../conformance/tools.ts'
import type { ComputeErrorCode } from '../port/compute-error.ts'
import { statusCodeOf, toComputeError } from './docker-errors.ts'
import { probeDocker } from './probe-docker.ts'
import { importTestImage } from './test-image.ts'

const probe = await probeDocker()

// Goal: its words are known by their patterns. Method: the engine that is here is made to say them.
describeWhere('the words of a Docker Engine', probe, () => {
  const docker = new Docker({ socketPath: probe.ok ? probe.socket_path : '' })
  const name = `berth-words-${randomBytes(4).toString('hex')}`
  const made: { remove(options?: object): Promise<unknown> }[] = []
  let Image = ''
  beforeAll(async () => {
    Image = await importTestImage(docker)
  })
  afterAll(async () => {
    for (const one of made.reverse()) await one.remove({ force: true })
  })

  const create = async (part: Docker.ContainerCreateOptions) => {
    const container = await docker.createContainer({ Image, Cmd: ['sleep', '1000'], ...part })
    made.push(container)
    return container
  }

  const cases: [string, ComputeErrorCode, number, () => Promise<unknown>][] = [
    ['an image that is not here', 'image_unavailable', 404, () => create({ Image: `${name}:none` })],
    ['a container that is not there', 'not_found', 404, () => docker.getContainer(name).inspect()],
    [
      'a name in use',
      'failed',
      409,
      async () => {
        await create({ name: `${name}-one` })
        await create({ name: `${name}-one` })
      },
    ],
    [
      'one that does not run',
      'not_running',
      409,
      async () => (await create({ name: `${name}-still` })).exec({ Cmd: ['true'] }),
    ],
    [
      'a runtime that is not there',
      'unsupported',
      400,
      () => create({ HostConfig: { Runtime: 'no-such-runtime' } }),
    ],
    ['a port in use', 'port_taken', 500, startOnTakenPort],
    ['a disk that is full', 'no_room', 500, fillDisk],
  ]
  test.each(cases)('%s is told as %s', async (_what, code, status, ask) => {
    const said: unknown = await ask().then(
      () => null,
      (reason: unknown) => reason,
    )
    expect(said).not.toBeNull()
    expect(toComputeError(said, 'asking')).toMatchObject({ code })
    expect(statusCodeOf(said)).toBe(status)
  })

  async function startOnTakenPort(): Promise<void> {
    const taker = createServer().listen(0, '127.0.0.1')
    await once(taker, 'listening')
    const network = await docker.createNetwork({ Name: name })
    made.push(network)
    try {
      const { port } = taker.address() as AddressInfo
      const container = await create({
        ExposedPorts: { '80/tcp': {} },
        HostConfig: {
          NetworkMode: name,
          PortBindings: { '80/tcp': [{ HostIp: '127.0.0.1', HostPort: String(port) }] },
        },
      })
      await container.start()
    } finally {
      taker.close()
    }
  }

  /** Puts a file into a volume that is smaller than it. */
  async function fillDisk(): Promise<void> {
    const DriverOpts = { type: 'tmpfs', device: 'tmpfs', o: 'size=64k' }
    made.push(docker.getVolume((await docker.createVolume({ Name: name, Driver: 'local', DriverOpts })).name))
    const container = await create({
      HostConfig: { Mounts: [{ Type: 'volume', Source: name, Target: '/small' }] },
    })
    const archive = execFileSync('sh', [
      '-c',
      'cd "$(mktemp -d)" && head -c 200k /dev/zero > big && tar -c big && rm -r "$PWD"',
    ])
    await container.putArchive(archive, { path: '/small' })
  }
})
