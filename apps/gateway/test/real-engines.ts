import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import Docker from 'dockerode'
import { pino } from 'pino'
import { removeCloud } from '../src/drivers/compute/docker/docker-cloud-fixture.ts'
import { createDockerEngine } from '../src/drivers/compute/docker/docker-engine.ts'
import { probeDocker } from '../src/drivers/compute/docker/probe-docker.ts'
import { importTestImage } from '../src/drivers/compute/docker/test-image.ts'
import type { Engine } from '../src/drivers/compute/port/engine.ts'
import { probeSandbox } from '../src/drivers/compute/sandbox/probe-sandbox.ts'
import { createSandboxEngine } from '../src/drivers/compute/sandbox/sandbox-engine.ts'
import type { Catalogue } from '../src/platform/config/catalogue.ts'
import { shippedCatalogue } from './shipped-catalogue.ts'

/** An engine that makes real machines here, for tests through a whole gateway. */
export interface RealEngine {
  name: string
  /** Why it is not here, in a sentence; null where it is. */
  missing: string | null
  /** @param folder For what it stores; the test's own, which removes it. */
  open(folder: string): Promise<OpenedEngine>
}

export interface OpenedEngine {
  engine: Engine
  /** The shipped one, whose `berth-base` is an image that the engine has. */
  catalogue: Catalogue
  /** Removes every machine, and what the engine has of this test. */
  end(): Promise<void>
}

/** Beside what its small image has: what people bring with their programs. */
const MORE_PROGRAMS = ['tar', 'gzip', 'nohup', 'truncate']

const log = pino({ level: 'silent' })
const never = new AbortController().signal
const [sandbox, docker] = await Promise.all([probeSandbox(), probeDocker()])

/** The sandbox and Docker, whether or not they are here. */
export const REAL_ENGINES: readonly RealEngine[] = [
  {
    name: 'a sandbox',
    missing: sandbox.ok ? null : sandbox.why,
    async open(folder) {
      const engine = await createSandboxEngine({ dataDir: join(folder, 'machines'), log })
      return { engine, catalogue: shippedCatalogue(), end: () => removeAll(engine) }
    },
  },
  {
    name: 'Docker',
    missing: docker.ok ? null : docker.why,
    async open() {
      const socketPath = docker.ok ? docker.socket_path : ''
      const client = new Docker({ socketPath })
      const image = await importTestImage(client, MORE_PROGRAMS)
      const cloudId = `test-${randomBytes(4).toString('hex')}`
      const place = { kind: 'unix' as const, socket_path: socketPath }
      const engine = await createDockerEngine({ place, cloudId, egress: null, log })
      const catalogue = shippedCatalogue()
      const images = catalogue.images.map(entry =>
        entry.id === 'berth-base' ? { ...entry, recipe: { ...entry.recipe, docker: image } } : entry,
      )
      return {
        engine,
        catalogue: { ...catalogue, images },
        async end() {
          await removeAll(engine)
          await removeCloud(client, cloudId)
        },
      }
    },
  },
]

async function removeAll(engine: Engine): Promise<void> {
  for (const { id } of await engine.machines.list()) await engine.machines.remove(id, never)
  await engine.shutdown()
}
