import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type S3Tool, s3Code } from '@berth/contract/s3-code'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeWhere } from '../src/drivers/compute/conformance/tools.ts'
import { probeSandbox } from '../src/drivers/compute/sandbox/probe-sandbox.ts'
import { type S3Gateway, type S3Volume, startS3Gateway } from './s3-volume.ts'

const TEST_MS = 120_000
const LARGE_BYTES = 17 * 1024 * 1024

/** Why a program is not here; null where it is. */
function lacks(program: string): string | null {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`])
    return null
  } catch {
    return `${program} is not installed`
  }
}

/**
 * What each client does beside the page's own commands: it reads back what it has put, in parts where it is large, and
 * deletes it. `$B` is the bucket.
 */
const MORE: Record<Exclude<S3Tool, 'javascript'>, (volume: S3Volume) => string[]> = {
  aws: ({ endpoint, region }) => {
    const aws = `aws --endpoint-url ${endpoint} --region ${region}`
    return [
      `${aws} s3 cp large s3://$B/large --only-show-errors`,
      `${aws} s3 sync s3://$B back --only-show-errors`,
      `${aws} s3 rm s3://$B --recursive --only-show-errors`,
    ]
  },
  s3cmd: ({ bucket }) => {
    const s3cmd = `s3cmd -q -c ${bucket}.s3cfg`
    return [
      `${s3cmd} put large s3://$B/large --multipart-chunk-size-mb=6`,
      `${s3cmd} sync s3://$B/ back/`,
      `${s3cmd} del s3://$B --recursive --force`,
    ]
  },
  rclone: () => [
    'rclone copyto large berth:$B/large --s3-upload-cutoff 6M --s3-chunk-size 6M',
    'rclone check --download . berth:$B --include /large --one-way',
    'rclone copy berth:$B back',
    'rclone delete berth:$B',
  ],
}

// Goal: the commands of the page work as they stand there, and what clients do with a large file does, too.
// Method: the clients themselves, in a shell, with an empty home.
describeWhere('clients of S3', await probeSandbox(), () => {
  let gateway: S3Gateway
  let folder: string
  beforeAll(async () => {
    gateway = await startS3Gateway()
    folder = mkdtempSync(join(tmpdir(), 'berth-s3-clients-'))
  })
  afterAll(async () => {
    await gateway.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  for (const tool of ['aws', 's3cmd', 'rclone'] as const) {
    const why = lacks(tool)
    if (why !== null) process.stdout.write(`SKIP clients of S3 ${tool}: ${why}\n`)
    describe.skipIf(why !== null)(tool, () => {
      test(
        `[R2.25] [R3.11] ${tool} uploads, in parts too, reads back and deletes, by the page's own commands`,
        async () => {
          const volume = await gateway.volume()
          const home = join(folder, tool)
          mkdirSync(join(home, 'data', 'deep'), { recursive: true })
          writeFileSync(join(home, 'data', 'a file'), 'one')
          writeFileSync(join(home, 'data', 'deep', 'ü'), 'two')
          const large = Buffer.alloc(LARGE_BYTES, 'large ')
          writeFileSync(join(home, 'large'), large)
          const shown = s3Code(tool, { ...volume })
          const script = ['set -e', `B=${volume.bucket}`, shown, ...MORE[tool](volume)].join('\n')
          const env = {
            PATH: process.env.PATH,
            HOME: home,
            LANG: 'C.UTF-8',
            AWS_EC2_METADATA_DISABLED: 'true',
          }
          await promisify(execFile)('sh', ['-c', script], { cwd: home, env })
          expect(readFileSync(join(home, 'back', 'data', 'a file'), 'utf8')).toBe('one')
          expect(readFileSync(join(home, 'back', 'data', 'deep', 'ü'), 'utf8')).toBe('two')
          expect(readFileSync(join(home, 'back', 'large')).equals(large)).toBe(true)
          const left = execFileSync('find', [volume.path, '-type', 'f', '-not', '-path', '*/.berth-s3/*'], {
            encoding: 'utf8',
          })
          expect(left).toBe('')
        },
        TEST_MS,
      )
    })
  }
})
