import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { RealGpu } from './port/engine.ts'
import type { GpuSample } from './port/observation.ts'

const QUERY = ['--query-gpu=name,memory.total,uuid', '--format=csv,noheader,nounits']
const SAMPLE = ['--query-gpu=uuid,utilization.gpu,memory.used', '--format=csv,noheader,nounits']
const QUERY_TIMEOUT_MS = 5_000
const SAMPLE_FRESH_MS = 1_000
const CARDS_DIR = '/proc/driver/nvidia/gpus'

/** Engines say every few seconds what they have; to ask for cards starts a program. */
const LIST_KEPT_MS = 60_000
let listed: { at: number; gpus: Promise<RealGpu[]> } | null = null

/** The NVIDIA GPUs of this computer, as they were within the last minute. Empty when there is no driver, no card, or no answer. */
export function listNvidiaGpus(): Promise<RealGpu[]> {
  if (listed === null || performance.now() - listed.at > LIST_KEPT_MS) {
    listed = { at: performance.now(), gpus: readNvidiaGpus() }
  }
  return listed.gpus
}

/** The NVIDIA GPUs of this computer, as they are now. Empty as {@link listNvidiaGpus}. */
export async function readNvidiaGpus(): Promise<RealGpu[]> {
  try {
    const { stdout } = await promisify(execFile)('nvidia-smi', QUERY, { timeout: QUERY_TIMEOUT_MS })
    return parseNvidiaSmi(stdout)
  } catch {
    return []
  }
}

/** Reads lines of `name, memory in MiB, uuid`. Lines of another shape, such as error texts, are left out. */
export function parseNvidiaSmi(csv: string): RealGpu[] {
  return csv.split('\n').flatMap(line => {
    const fields = line.split(',').map(field => field.trim())
    const [name, memory, uuid] = fields
    const memory_mb = Number(memory)
    if (fields.length !== 3 || !name || !uuid?.startsWith('GPU-') || !Number.isFinite(memory_mb)) return []
    return [{ name, memory_mb, uuid }]
  })
}

/**
 * Measures GPUs of this computer. One question asks for all of them, and its answer is everybody's for a second: each is a
 * process of its own.
 * @param nowMs Milliseconds, counted from anywhere.
 * @returns By which some of them are measured; it gives null when nobody tells.
 */
export function createNvidiaSampler(nowMs: () => number) {
  let last: { atMs: number; all: Promise<GpuSample[]> } | null = null
  const ask = () => {
    const asked = { atMs: Number.POSITIVE_INFINITY, all: sampleAll() }
    asked.all.then(() => {
      asked.atMs = nowMs()
    })
    return asked
  }
  return async (uuids: readonly string[]): Promise<GpuSample[] | null> => {
    if (uuids.length === 0) return []
    if (!last || nowMs() - last.atMs > SAMPLE_FRESH_MS) last = ask()
    const samples = (await last.all).filter(({ uuid }) => uuids.includes(uuid))
    return samples.length === uuids.length ? samples : null
  }
}

async function sampleAll(): Promise<GpuSample[]> {
  try {
    const { stdout } = await promisify(execFile)('nvidia-smi', SAMPLE, { timeout: QUERY_TIMEOUT_MS })
    return parseNvidiaSample(stdout)
  } catch {
    return []
  }
}

/** Reads lines of `uuid, busy in percent, memory in MiB`; what a card does not tell (`[N/A]`) is null. */
export function parseNvidiaSample(csv: string): GpuSample[] {
  return csv.split('\n').flatMap(line => {
    const [uuid, busy, memory, ...more] = line.split(',').map(field => field.trim())
    if (!uuid?.startsWith('GPU-') || busy === undefined || memory === undefined || more.length > 0) return []
    return [{ uuid, busy_percent: numberOf(busy), memory_used_mb: numberOf(memory) }]
  })
}

function numberOf(field: string): number | null {
  return /^\d+(\.\d+)?$/.test(field) ? Number(field) : null
}

/** The numbers N of the device nodes /dev/nvidiaN of these GPUs, as the kernel's driver reports them. */
export async function nvidiaDeviceMinors(uuids: string[]): Promise<number[]> {
  const cards = await readdir(CARDS_DIR).catch(() => [])
  const texts = await Promise.all(cards.map(card => readFile(join(CARDS_DIR, card, 'information'), 'utf8')))
  return texts.flatMap(text => {
    const card = parseNvidiaInformation(text)
    return card && uuids.includes(card.uuid) ? [card.minor] : []
  })
}

/** Reads what the kernel's driver tells of one card; null when it does not name both uuid and number. */
export function parseNvidiaInformation(text: string): { uuid: string; minor: number } | null {
  const uuid = /^GPU UUID:\s*(\S+)/m.exec(text)?.[1]
  const minor = /^Device Minor:\s*(\d+)/m.exec(text)?.[1]
  return uuid && minor ? { uuid, minor: Number(minor) } : null
}
