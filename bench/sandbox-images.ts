// Images of registries in sandboxes: their start, unpacking them, and what fetching them takes of the gateway's memory.
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { smallMachine } from '../apps/gateway/src/drivers/compute/conformance/small-machine.ts'
import { layTestTree } from '../apps/gateway/src/drivers/compute/docker/test-image.ts'
import {
  makeImage,
  packOdd,
  startRegistry,
} from '../apps/gateway/src/drivers/compute/oci/registry-fixture.ts'
import type { Engine } from '../apps/gateway/src/drivers/compute/port/engine.ts'
import { createSandboxEngine } from '../apps/gateway/src/drivers/compute/sandbox/sandbox-engine.ts'
import { createLog } from '../apps/gateway/src/platform/log.ts'
import { startBareSandbox } from './lib/bare-process.ts'
import { median, printFigure } from './lib/figures.ts'
import { startGatewayProcess } from './lib/gateway-process.ts'
import { inTurns, printOverhead } from './lib/rounds.ts'

const MB = 1024 * 1024
const START_ROUNDS = 15
const START_AIM_MS = 60
const START_MEMORY_MB = 256
const LAYERS = 20
const LAYER_MB = 50
const UNPACK_ROUNDS = 3
const UNPACK_AIM = 0.7
const IMAGES = 10
const IMAGE_MB = 64
const MEMORY_AIM_MB = 150
const LOOK_MS = 50
/** What the gateway's own loops do at first is over then. */
const SETTLE_MS = 5_000
const CATALOGUE = resolve(import.meta.dirname, '../config/catalogue.yaml')

const log = createLog({ level: 'warn' })
const run = promisify(execFile)
const never = new AbortController().signal
const folder = mkdtempSync(join(tmpdir(), 'berth-bench-images-'))
const closing: (() => void)[] = []
const parts = { start: benchStart, unpack: benchUnpack, memory: benchMemory }
const wanted = process.argv[2]
try {
  for (const [name, bench] of Object.entries(parts)) {
    if (wanted === undefined || wanted === name) await bench()
  }
} finally {
  for (const close of closing) close()
  rmSync(folder, { recursive: true, force: true })
}

/** Puts an image into a registry of its own, and gives what machines are made from. */
async function serve(image: ReturnType<typeof makeImage>) {
  const registry = await startRegistry(image)
  closing.push(registry.close)
  return { id: 'bench', parts: { sandbox: { image: registry.reference } } }
}

async function programsLayer(): Promise<Buffer> {
  const tree = join(folder, 'programs')
  mkdirSync(tree)
  await layTestTree(tree)
  const { stdout } = await run('tar', ['-C', tree, '-c', '.'], { encoding: 'buffer', maxBuffer: 200 * MB })
  return stdout
}

async function benchStart(): Promise<void> {
  const engine = await createSandboxEngine({ dataDir: join(folder, 'start'), log })
  const image = await serve(makeImage([{ bytes: await programsLayer(), packing: '' }]))
  await engine.images.pull(image, () => undefined, never)
  const made: number[] = []
  const rounds = await inTurns(START_ROUNDS, {
    async ours(round) {
      const id = `ours-${round}`
      const beginAt = performance.now()
      await engine.machines.create(smallMachine(id, image), never)
      const madeAt = performance.now()
      await engine.machines.start(id, never)
      const startedAt = performance.now()
      await engine.machines.remove(id, never)
      if (round > 0) made.push(madeAt - beginAt)
      return startedAt - madeAt
    },
    bare: round => startBareSandbox(join(folder, 'by-hand'), `by-hand-${round}`, START_MEMORY_MB),
  })
  await engine.shutdown()
  printOverhead({
    what: 'start of a machine of an image',
    rounds,
    aimMs: START_AIM_MS,
    more: `making it before ${median(made).toFixed(0)}`,
  })
}

/** Layers of this computer's own files, of which some are changed by the next layer. */
async function manyLayers(): Promise<Buffer[]> {
  const { stdout } = await run(
    'find',
    [...'/usr/lib /usr/share /usr/bin -xdev -type f -readable -size -4096k -printf'.split(' '), '%s %p\\0'],
    { encoding: 'utf8', maxBuffer: 64 * MB },
  )
  const files = stdout.split('\0').flatMap(line => {
    const [, size = '', path = ''] = /^(\d+) (.+)$/s.exec(line) ?? []
    return path === '' ? [] : [{ size: Number(size), path }]
  })
  const layers: Buffer[] = []
  for (let at = 0, layer = 0; layer < LAYERS; layer++) {
    const list: string[] = []
    for (let bytes = 0; bytes < LAYER_MB * MB; at++) {
      const { size = 0, path = '' } = files[at % files.length] ?? {}
      list.push(path)
      bytes += size
    }
    const names = join(folder, 'names')
    writeFileSync(names, list.map(path => `${path}\0`).join(''))
    const rename = `--transform=s,^/,layer-${layer % 10}/,`
    const tar = ['-P', '-c', '--null', rename, '-T', names]
    const { stdout } = await run('tar', tar, { encoding: 'buffer', maxBuffer: 2 * LAYER_MB * MB })
    layers.push(gzipSync(stdout, { level: 1 }))
  }
  return layers
}

async function benchUnpack(): Promise<void> {
  const layers = await manyLayers()
  const dataDir = join(folder, 'unpack')
  const engine = await createSandboxEngine({ dataDir, log })
  const image = await serve(makeImage(layers.map(bytes => ({ bytes, packing: '+gzip' as const }))))
  await engine.images.pull(image, () => undefined, never)
  const ours: number[] = []
  const bare: number[] = []
  for (const [at, bytes] of layers.entries()) writeFileSync(join(folder, `layer-${at}`), bytes)
  for (let round = 0; round < UNPACK_ROUNDS; round++) {
    ours.push(await timeUnpack(engine, dataDir, image))
    bare.push(await timeTar())
  }
  await engine.shutdown()
  const mbPerSecond = (ms: number) => `${((LAYERS * LAYER_MB) / (ms / 1000)).toFixed(0)} MB/s`
  const ratio = median(bare) / median(ours)
  printFigure({
    what: `unpacking ${LAYERS} layers of ${LAYER_MB} MB`,
    ours: mbPerSecond(median(ours)),
    bare: mbPerSecond(median(bare)),
    compared: `ratio ${ratio.toFixed(2)}`,
    aim: { says: `at least ${UNPACK_AIM}`, met: ratio >= UNPACK_AIM },
  })
}

/** What is fetched already is unpacked once more where it is no longer unpacked. */
async function timeUnpack(
  engine: Engine,
  dataDir: string,
  image: Awaited<ReturnType<typeof serve>>,
): Promise<number> {
  await rm(join(dataDir, 'oci/trees'), { recursive: true })
  await run('sync', [])
  const beginAt = performance.now()
  await engine.images.pull(image, () => undefined, never)
  return performance.now() - beginAt
}

/** One layer after the other by `tar`, which has gzip unpack them, then told to the disk as ours are. */
async function timeTar(): Promise<number> {
  const into = join(folder, 'by-tar')
  mkdirSync(into)
  await run('sync', [])
  const beginAt = performance.now()
  for (let at = 0; at < LAYERS; at++) await run('tar', ['-C', into, '-xzf', join(folder, `layer-${at}`)])
  await run('sync', ['--file-system', into])
  const took = performance.now() - beginAt
  await rm(into, { recursive: true })
  return took
}

async function benchMemory(): Promise<void> {
  const images = await Promise.all(
    Array.from({ length: IMAGES }, () => {
      const bytes = packOdd([{ name: 'file', content: randomBytes(IMAGE_MB * MB) }])
      return serve(makeImage([{ bytes, packing: '' }], { Cmd: ['/none'] }))
    }),
  )
  const catalogue = join(folder, 'catalogue.yaml')
  const text = readFileSync(CATALOGUE, 'utf8')
  const [, base = ''] = /^images:\n( {2}- id: berth-base\n[\s\S]*?)(?= {2}- id: )/m.exec(text) ?? []
  const more = images.map(({ parts }, at) =>
    base
      .replace('id: berth-base', `id: bench-${at}`)
      .replace('sandbox: host', `sandbox: { image: '${parts.sandbox.image}' }`),
  )
  writeFileSync(catalogue, text.replace('images:\n', `images:\n${more.join('')}`))
  const gateway = await startGatewayProcess({ BERTH_CATALOGUE: catalogue })
  try {
    await new Promise(resolve => setTimeout(resolve, SETTLE_MS))
    const before = residentMb(gateway.server.pid)
    let most = before
    const timer = setInterval(() => {
      most = Math.max(most, residentMb(gateway.server.pid))
    }, LOOK_MS)
    const ids = await Promise.all(images.map((_, at) => gateway.deploy({ image_id: `bench-${at}` })))
    await Promise.all(ids.map(id => gateway.until(id, 'running', LOOK_MS)))
    clearInterval(timer)
    for (const id of ids) await gateway.terminate(id)
    const more = most - before
    printFigure({
      what: `the gateway's memory while ${IMAGES} images of ${IMAGE_MB} MB are fetched and started`,
      ours: `${most.toFixed(0)} MB`,
      bare: `${before.toFixed(0)} MB before`,
      compared: `${more.toFixed(0)} MB more`,
      aim: { says: `under ${MEMORY_AIM_MB} MB more`, met: more < MEMORY_AIM_MB },
    })
  } finally {
    await gateway.stop()
  }
}

function residentMb(pid: number): number {
  const kb = /^VmRSS:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kb) / 1024
}
