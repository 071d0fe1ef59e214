import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { getVolumeS3 } from '@berth/contract/volume-s3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeWhere, eventually } from '../src/drivers/compute/conformance/tools.ts'
import { probeSandbox } from '../src/drivers/compute/sandbox/probe-sandbox.ts'
import { clientOf, refusalOf } from './s3-conformance.ts'
import { cutPut } from './s3-cut-put.ts'
import { type S3Gateway, type S3Volume, startS3Gateway } from './s3-volume.ts'
import type { TestGateway } from './start-gateway.ts'

const MIB = 1024 * 1024
const PART_BYTES = 5 * MIB
const EXPIRES_S = 60
/** Of a socket that takes connections, in the kernel's list. */
const LISTENS = '00010000'

// Goal: any gateway of an installation answers for any volume. Method: two gateways on one database, each with the server in
// its process; the one that is asked reaches no engine.
describeWhere('S3 by a gateway that does not reach the volume', await probeSandbox(), () => {
  let far: S3Gateway
  let near: TestGateway
  let volume: S3Volume
  let s3: S3Client
  let Bucket: string
  beforeAll(async () => {
    far = await startS3Gateway()
    const other = await far.other()
    near = other.gateway
    volume = { ...(await far.volume()), endpoint: other.endpoint }
    s3 = clientOf(volume)
    Bucket = volume.bucket
  })
  afterAll(() => far.stop())
  const put = (Key: string, Body: string | Uint8Array = Key) =>
    s3.send(new PutObjectCommand({ Bucket, Key, Body }))
  const read = async (Key: string) => {
    const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key }))
    return Buffer.from((await Body?.transformToByteArray()) ?? [])
  }
  const keys = async () => {
    const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket }))
    return Contents.map(({ Key }) => Key)
  }
  const signedPutUrl = async (Key: string) =>
    new URL(await getSignedUrl(s3, new PutObjectCommand({ Bucket, Key })))
  const describeAtNear = () => near.data(getVolumeS3, { params: { id: volume.id } }, { token: far.token })

  test('[R2.25] objects are put, read, listed and deleted, in parts too, and lie in the volume', async () => {
    await put('one', 'by another gateway')
    expect(readFileSync(join(volume.path, 'one'), 'utf8')).toBe('by another gateway')
    expect(String(await read('one'))).toBe('by another gateway')
    const large = randomBytes(2 * PART_BYTES + 1_000)
    const params = { Bucket, Key: 'deep/large', Body: large }
    await new Upload({ client: s3, params, partSize: PART_BYTES }).done()
    expect((await read('deep/large')).equals(large)).toBe(true)
    expect(await keys()).toEqual(['deep/large', 'one'])
    await s3.send(new DeleteObjectCommand({ Bucket, Key: 'one' }))
    expect(await refusalOf(read('one'))).toBe('404 NoSuchKey')
  })

  test('[R2.25] it says its own endpoint, and from where a key was used', async () => {
    expect(await describeAtNear()).toMatchObject({ state: 'served', endpoint: volume.endpoint, detail: '' })
    await eventually(async () => {
      const { keys: all } = await describeAtNear()
      expect(all.map(key => key.last_used_from)).toEqual(['127.0.0.1'])
    })
  })

  test('[R2.25] whoever waits to be told to go on is told so, or why not, before the body is sent', async () => {
    const put = async (key: string, bytes: number) => {
      const url = await signedPutUrl(key)
      const sent = httpRequest(url, {
        method: 'PUT',
        headers: { expect: '100-continue', 'content-length': bytes },
      })
      let isToldToGoOn = false
      sent.on('continue', () => {
        isToldToGoOn = true
        sent.end(Buffer.alloc(bytes))
      })
      const answered = new Promise<string>((resolve, reject) => {
        sent.on('error', reject)
        sent.on('response', async response => resolve(`${response.statusCode} ${await text(response)}`))
      })
      sent.flushHeaders()
      const answer = await answered
      sent.destroy()
      return { answer, isToldToGoOn }
    }
    expect(await put('expected', 1_000)).toEqual({ answer: '200 ', isToldToGoOn: true })
    const refused = await put('too-large', 21 * 1024 ** 3)
    expect(refused).toEqual({ answer: expect.stringContaining('EntityTooLarge'), isToldToGoOn: false })
  })

  test('[R2.25] a refusal of what is being sent comes through, and an upload that is cut leaves nothing', async () => {
    await put('folder/file')
    expect(await refusalOf(put('folder', randomBytes(MIB)))).toBe('409 ObjectIsFolder')
    const body = randomBytes(200_000)
    const underWay = (count: number) =>
      eventually(() => expect(readdirSync(join(volume.path, '.berth-s3', 'tmp'))).toHaveLength(count))
    for (const bytes of [1, 100_000, 199_999]) {
      await cutPut(await signedPutUrl('cut'), body, { bytes, meanwhile: () => underWay(1) })
      await underWay(0)
    }
    expect(await refusalOf(read('cut'))).toBe('404 NoSuchKey')
  })

  test('[R6.4] whoever comes by the hop is checked where it ends: a gateway’s word is not enough', async () => {
    const wrong = clientOf({ ...volume, secretAccessKey: 'x'.repeat(40) })
    expect(await refusalOf(wrong.send(new ListObjectsV2Command({ Bucket })))).toBe(
      '403 SignatureDoesNotMatch',
    )
    const url = new URL(
      await getSignedUrl(wrong, new ListObjectsV2Command({ Bucket }), { expiresIn: EXPIRES_S }),
    )
    const sockets = hopSockets()
    expect(sockets).toHaveLength(2)
    for (const path of sockets) {
      const socket = connect(path)
      socket.write(
        `GET ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\nConnection: close\r\n\r\n`,
      )
      expect(await text(socket)).toContain('<Code>SignatureDoesNotMatch</Code>')
    }
  })

  // The last one: it ends the gateway that reaches the volume.
  test('[R2.25] when nobody reaches the volume any more that is said, and the key stays', async () => {
    await far.gateway.gateway.fleet.stop()
    await eventually(async () => {
      expect(await refusalOf(keys())).toBe('503 ServiceUnavailable')
      expect((await describeAtNear()).state).toBe('elsewhere')
    })
    expect((await describeAtNear()).keys).toHaveLength(1)
  })
})

/** Where the servers of this test's gateways take what others pass on. */
function hopSockets(): string[] {
  const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8')
  const inodes = new Set(children.trim().split(' ').flatMap(inodesOf))
  return readFileSync('/proc/net/unix', 'utf8')
    .split('\n')
    .map(line => line.trim().split(/\s+/))
    .filter(
      ([, , , flags, , , inode, path]) =>
        flags === LISTENS && path?.endsWith('/asked') && inodes.has(Number(inode)),
    )
    .map(fields => fields[7] ?? '')
}

/** What a process has open; none where it has ended. */
function inodesOf(pid: string): (number | undefined)[] {
  try {
    const folder = `/proc/${pid}/fd`
    return readdirSync(folder).map(fd => statSync(join(folder, fd), { throwIfNoEntry: false })?.ino)
  } catch {
    return []
  }
}
