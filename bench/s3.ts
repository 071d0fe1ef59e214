// 1 GB put by S3 and got again by an address that is signed, beside the same bytes to a bare Node server that streams them to
// disk and back, and beside `cp`. The client is the same for both.
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { appendFileSync, createReadStream, mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { makeS3Key } from '@berth/contract/volume-s3'
import { createVolume, listVolumes } from '@berth/contract/volumes'
import { startChildServer } from './lib/child-server.ts'
import { median, printFigure } from './lib/figures.ts'
import { startGatewayProcess } from './lib/gateway-process.ts'
import { presigned } from './lib/presigned.ts'

const ROUNDS = 3
const BYTES = 1_000_000_000
const BYTES_PER_MB = 1_000_000
const MS_PER_S = 1_000
const PAUSE_MS = 50
const AIM_RATIO = 0.5
const PORT = 20_000 + (process.pid % 10_000)

const folder = mkdtempSync(join(tmpdir(), 'berth-bench-s3-'))
const file = join(folder, 'bytes')
// A file with holes would be copied in no time.
const some = randomBytes(BYTES_PER_MB)
for (let mb = 0; mb < BYTES / BYTES_PER_MB; mb += 1) appendFileSync(file, some)
const gateway = await startGatewayProcess({ BERTH_S3_PORT: String(PORT) })
const bare = await startChildServer('bench/bare-disk-server.ts', /ready on (\S+)/, { BARE_DIR: folder })
const rates: Record<'put' | 'get' | 'barePut' | 'bareGet' | 'cp', number[]> = {
  put: [],
  get: [],
  barePut: [],
  bareGet: [],
  cp: [],
}
try {
  const body = { name: 'bench', region_code: 'us-west', size_gb: 10 }
  const { id } = await gateway.call(createVolume, { body })
  for (;;) {
    const [volume] = await gateway.call(listVolumes, { query: {} })
    if (volume?.status === 'ready') break
    await new Promise(resolve => setTimeout(resolve, PAUSE_MS))
  }
  const key = await gateway.call(makeS3Key, { params: { id }, body: { access: 'read_write' } })
  const target = {
    endpoint: `http://127.0.0.1:${PORT}`,
    region: 'us-west',
    accessKeyId: key.access_key_id,
    secretAccessKey: key.secret_access_key,
  }
  const url = (method: string) => presigned(target, method, `/${id}/bytes`)
  const bareUrl = bare.ready[1] ?? ''
  for (let round = 0; round < ROUNDS; round += 1) {
    rates.barePut.push(await rate(() => put(bareUrl)))
    rates.put.push(await rate(() => put(url('PUT'))))
    rates.bareGet.push(await rate(() => get(bareUrl)))
    rates.get.push(await rate(() => get(url('GET'))))
    rates.cp.push(await rate(async () => execFileSync('cp', [file, join(folder, 'copy')])))
  }
} finally {
  await bare.stop()
  await gateway.stop()
  rmSync(folder, { recursive: true, force: true })
}
const cp = `cp ${say(rates.cp)}`
for (const [what, ours, theirs] of [
  ['1 GB put by S3', rates.put, rates.barePut],
  ['1 GB got by S3', rates.get, rates.bareGet],
] as const) {
  const ratio = median(ours) / median(theirs)
  printFigure({
    what,
    ours: say(ours),
    bare: say(theirs),
    compared: `${ratio.toFixed(2)} of a bare stream, ${cp}`,
    aim: { says: `at least ${AIM_RATIO}`, met: ratio >= AIM_RATIO },
  })
}

function say(all: readonly number[]): string {
  return `${Math.round(median(all))} MB/s`
}

async function rate(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return BYTES / BYTES_PER_MB / ((performance.now() - start) / MS_PER_S)
}

function put(url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'PUT', headers: { 'content-length': BYTES } }, response => {
      response
        .resume()
        .on('end', () =>
          response.statusCode === 200 ? resolve() : reject(new Error(String(response.statusCode))),
        )
    })
    sent.on('error', reject)
    pipeline(createReadStream(file, { highWaterMark: 1 << 20 }), sent).catch(reject)
  })
}

function get(url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const asked = request(url, response => {
      let bytes = 0
      response.on('data', piece => {
        bytes += piece.length
      })
      response.on('end', () => (bytes === BYTES ? resolve() : reject(new Error(`${bytes} bytes came`))))
    })
    asked.on('error', reject)
    asked.end()
  })
}
