import { readlinkSync } from 'node:fs'
import { type FileHandle, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { DeleteObjectCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { clientOf } from './s3-conformance.ts'
import { type S3Folder, startS3Folder } from './s3-folder.ts'

// Goal: what was acknowledged outlives a power cut: its bytes and its name are on the disk before the answer. Method: the server in
// this process, and a note of each file and folder that it has the system write down, with what had its name by then.
const PART_BYTES = 5 * 1024 ** 2

let folder: S3Folder
let s3: S3Client
let handles: Record<'sync' | 'datasync', (this: FileHandle) => Promise<void>>
const { sync, datasync } = await handlesOf()
let written: { path: string; isFile: boolean; names: string[] }[] = []

async function handlesOf() {
  const file = await open('/dev/null')
  handles = Object.getPrototypeOf(file)
  await file.close()
  return { sync: handles.sync, datasync: handles.datasync }
}

const pathOf = ({ fd }: FileHandle) => readlinkSync(`/proc/self/fd/${fd}`)

beforeAll(async () => {
  folder = await startS3Folder()
  s3 = clientOf(folder)
  const noted = (really: typeof sync) =>
    async function (this: FileHandle) {
      const path = pathOf(this)
      await really.call(this)
      const isFile = (await this.stat()).isFile()
      written.push({ path, isFile, names: await readdir(path).catch(() => []) })
    }
  handles.sync = noted(sync)
  handles.datasync = noted(datasync)
})
afterAll(async () => {
  Object.assign(handles, { sync, datasync })
  s3.destroy()
  await folder.stop()
})
beforeEach(() => {
  written = []
})

/** Folders that were written down when they had a name, or had it no more. */
const foldersWith = (name: string, has = true) =>
  written
    .filter(({ path, names }) => path.startsWith(folder.path) && names.includes(name) === has)
    .map(({ path }) => path)
/** Files with bytes that were written down before they got their name. */
const files = () =>
  written.flatMap(({ path, isFile }) => (isFile && path.includes('/.berth-s3/') ? [path] : []))
test('[R2.25] a put is answered when its bytes, its name, and each new folder on the way to it are on the disk', async () => {
  await s3.send(new PutObjectCommand({ Bucket: folder.bucket, Key: 'new/deep/one', Body: 'bytes' }))
  expect(files().length).toBeGreaterThan(0)
  expect(foldersWith('new')).toContain(folder.path)
  expect(foldersWith('deep')).toContain(join(folder.path, 'new'))
  expect(foldersWith('one')).toContain(join(folder.path, 'new/deep'))
})

test('[R2.25] so is an object of several parts, and each part before it is answered', async () => {
  const params = { Bucket: folder.bucket, Key: 'parts', Body: Buffer.alloc(PART_BYTES + 1, 'x') }
  await new Upload({ client: s3, params, partSize: PART_BYTES, queueSize: 1 }).done()
  expect(new Set(files()).size).toBeGreaterThanOrEqual(3)
  expect(foldersWith('parts')).toContain(folder.path)
})

test('[R2.25] what was deleted stays so', async () => {
  await s3.send(new PutObjectCommand({ Bucket: folder.bucket, Key: 'gone', Body: 'bytes' }))
  written = []
  await s3.send(new DeleteObjectCommand({ Bucket: folder.bucket, Key: 'gone' }))
  expect(foldersWith('gone', false)).toContain(folder.path)
})
