import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import {
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsCommand,
  type ListObjectsCommandOutput,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  PutObjectCommand,
  type S3Client,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { getVolumeS3, makeS3Key, revokeS3Key, rotateS3Key } from '@berth/contract/volume-s3'
import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { volume as volumeTable } from '../src/domains/volumes/tables.ts'
import { describeWhere, eventually } from '../src/drivers/compute/conformance/tools.ts'
import { probeSandbox } from '../src/drivers/compute/sandbox/probe-sandbox.ts'
import { triesOf } from './long-runs.ts'
import { clientOf, refusalOf } from './s3-conformance.ts'
import { cutPut } from './s3-cut-put.ts'
import { signedPut } from './s3-signed-put.ts'
import { type S3Gateway, type S3Volume, startS3Gateway } from './s3-volume.ts'

const LONG_MS = 600_000
const FLAT_SHARE = 0.85
const PART_BYTES = 5 * 1024 * 1024
/** As many requests as one customer may have under way; the SDK's own sockets are fewer. */
const PUTS_AT_ONCE = 64
const SECRET_TEXT = 'what only the host may read'

// Goal: a machine that changes its volume as it likes gains nothing outside of it, and what is acknowledged stays.
// Method: the real server in its process; the test writes into the volume's folder, as a machine does.
describeWhere('S3 of hostile volumes and clients', await probeSandbox(), () => {
  let gateway: S3Gateway
  let volume: S3Volume
  let s3: S3Client
  let outside: string
  beforeAll(async () => {
    gateway = await startS3Gateway()
    volume = await gateway.volume()
    s3 = clientOf(volume)
    outside = mkdtempSync(join(tmpdir(), 'berth-s3-outside-'))
    writeFileSync(join(outside, 'secret'), SECRET_TEXT)
  })
  afterAll(async () => {
    await gateway.stop()
    rmSync(outside, { recursive: true, force: true })
  })
  const at = (...names: string[]) => join(volume.path, ...names)
  const put = (Key: string, Body: string | Uint8Array = Key) =>
    s3.send(new PutObjectCommand({ Bucket: volume.bucket, Key, Body }))
  const read = async (Key: string) => {
    const { Body } = await s3.send(new GetObjectCommand({ Bucket: volume.bucket, Key }))
    return (await Body?.transformToString()) ?? ''
  }
  const remove = (Key: string) => s3.send(new DeleteObjectCommand({ Bucket: volume.bucket, Key }))
  const keys = async (Prefix = '') => {
    const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: volume.bucket, Prefix }))
    return Contents.map(({ Key }) => Key)
  }

  describe('what machines put there', () => {
    test('[R3.11] files of machines are objects, and objects are files', async () => {
      mkdirSync(at('made'), { recursive: true })
      writeFileSync(at('made', 'by-machine'), 'machine')
      expect(await read('made/by-machine')).toBe('machine')
      await put('made/by-s3', 'client')
      expect(readFileSync(at('made', 'by-s3'), 'utf8')).toBe('client')
      expect(await keys('made/')).toEqual(['made/by-machine', 'made/by-s3'])
      const before = await s3.send(new GetObjectCommand({ Bucket: volume.bucket, Key: 'made/by-s3' }))
      writeFileSync(at('made', 'by-s3'), 'changed by the machine')
      const after = await s3.send(new GetObjectCommand({ Bucket: volume.bucket, Key: 'made/by-s3' }))
      expect(await after.Body?.transformToString()).toBe('changed by the machine')
      expect(after.ETag).not.toBe(before.ETag)
      expect(after.ETag).toMatch(/-1"$/)
    })

    test('[R2.25] links, pipes and folders behind links are no objects, and lead nowhere', async () => {
      mkdirSync(at('trap'), { recursive: true })
      symlinkSync(join(outside, 'secret'), at('trap', 'file'))
      symlinkSync(outside, at('trap', 'folder'))
      symlinkSync('../../../../../../etc', at('trap', 'up'))
      await promisify(execFile)('mkfifo', [at('trap', 'pipe')])
      // A name that is no UTF-8, which no key can be.
      writeFileSync(Buffer.concat([Buffer.from(at('trap', 'x')), Buffer.from([0xff, 0xfe])]), '')
      for (const key of ['trap/file', 'trap/folder/secret', 'trap/up/passwd', 'trap/pipe']) {
        expect([key, await refusalOf(read(key))]).toEqual([key, '404 NoSuchKey'])
      }
      expect(await keys('trap/')).toEqual([])
      expect(await refusalOf(put('trap/folder/new'))).toBe('409 ObjectParentIsFile')
      await remove('trap/folder/secret')
      const CopySource = `${volume.bucket}/trap/file`
      const copy = new CopyObjectCommand({ Bucket: volume.bucket, Key: 'stolen', CopySource })
      expect(await refusalOf(s3.send(copy))).toBe('404 NoSuchKey')
      // The link itself gives way, what it leads to does not.
      await put('trap/file', 'mine')
      expect(readFileSync(at('trap', 'file'), 'utf8')).toBe('mine')
      expect(readdirSync(outside)).toEqual(['secret'])
      expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe(SECRET_TEXT)
    })

    test('[R2.25] a folder that becomes a link again and again leads nobody out', async () => {
      mkdirSync(at('race', 'real'), { recursive: true })
      writeFileSync(at('race', 'real', 'secret'), 'inside')
      const swap = `cd "$1" && while [ -d race ]; do ln -sfn "$2" race/.l && mv -T race/real race/.r 2>/dev/null; mv -T race/.l race/real 2>/dev/null; rm -f race/real 2>/dev/null; mv -T race/.r race/real 2>/dev/null; done`
      const racer: ChildProcess = spawn('bash', ['-c', swap, 'racer', volume.path, outside], {
        stdio: 'ignore',
      })
      const ended = new Promise(resolve => racer.once('exit', resolve))
      const seen = new Set<string>()
      for (let round = 0; round < triesOf('objects') / 4; round += 1) {
        const [text] = await Promise.all([
          read('race/real/secret').catch(error => error.name as string),
          put('race/real/put', 'x').catch(() => undefined),
          remove('race/real/put').catch(() => undefined),
        ])
        seen.add(text)
      }
      racer.kill('SIGKILL')
      await ended
      expect(seen).not.toContain(SECRET_TEXT)
      expect(readdirSync(outside)).toEqual(['secret'])
      rmSync(at('race'), { recursive: true, force: true })
    })

    test('[R2.25] what a machine says of an object as S3 would is said with the headers of objects alone', async () => {
      await put('said', 'said')
      const name = createHash('sha256').update('said').digest('hex').slice(0, 40)
      const folder = at('.berth-s3', 'meta', name.slice(0, 2))
      const note = join(folder, readdirSync(folder).find(one => one.startsWith(name.slice(2))) ?? '')
      const facts = JSON.parse(readFileSync(note, 'utf8'))
      const headers = { 'content-type': 'text/plain', 'set-cookie': 'a=b', 'transfer-encoding': 'chunked' }
      writeFileSync(note, JSON.stringify({ ...facts, headers }))
      const url = await getSignedUrl(s3, new GetObjectCommand({ Bucket: volume.bucket, Key: 'said' }))
      const answer = await fetch(url)
      expect([answer.headers.get('content-type'), await answer.text()]).toEqual(['text/plain', 'said'])
      for (const name of ['set-cookie', 'transfer-encoding']) expect(answer.headers.get(name)).toBeNull()
    })

    test('[R2.25] a link in place of the folder of S3 itself makes puts fail, and goes nowhere', async () => {
      const other = await gateway.volume()
      symlinkSync(outside, join(other.path, '.berth-s3'))
      const client = clientOf(other)
      const sent = client.send(new PutObjectCommand({ Bucket: other.bucket, Key: 'a', Body: 'a' }))
      expect(await refusalOf(sent)).toBe('409 ObjectParentIsFile')
      expect(readdirSync(outside)).toEqual(['secret'])
    })
  })

  test('[R2.25] names that cannot be files are refused with a sentence, and nothing is made of them', async () => {
    const refused: [string, string][] = [
      ['a/../b', 'InvalidObjectName'],
      ['../b', 'InvalidObjectName'],
      ['./b', 'InvalidObjectName'],
      ['a//b', 'InvalidObjectName'],
      ['/a', 'InvalidObjectName'],
      ['a\0b', 'InvalidObjectName'],
      [`n/${'x'.repeat(256)}`, 'InvalidObjectName'],
      ['.berth-s3/tmp/x', 'InvalidObjectName'],
      ['k'.repeat(200).concat('/').repeat(6), 'KeyTooLongError'],
    ]
    for (const [key, code] of refused) {
      const path = `/${volume.bucket}/${encodeURIComponent(key).replaceAll('%2F', '/')}`
      const answer = await signedPut(volume, { path, body: 'body' })
      expect([key, answer]).toEqual([key, expect.stringContaining(`<Code>${code}</Code>`)])
    }
    await put('taken', 'a file')
    expect(await refusalOf(put('taken/below'))).toBe('409 ObjectParentIsFile')
    await put('parent/child')
    expect(await refusalOf(put('parent'))).toBe('409 ObjectIsFolder')
    expect(await read('taken')).toBe('a file')
    expect(existsSync(join(volume.path, '..', 'b'))).toBe(false)
  })

  describe('faults', () => {
    test('[R2.25] an upload that is cut at every tenth of its way leaves what was there before', async () => {
      await put('cut', 'before')
      const body = randomBytes(200_000)
      const url = new URL(await getSignedUrl(s3, new PutObjectCommand({ Bucket: volume.bucket, Key: 'cut' })))
      for (let tenth = 0; tenth < 10; tenth += 1) {
        await cutPut(url, body, { bytes: (body.length / 10) * tenth })
        expect(await read('cut')).toBe('before')
      }
      // What was half written is gone as soon as the cut is noticed.
      await eventually(async () => expect(readdirSync(at('.berth-s3', 'tmp'))).toEqual([]))
    })

    test('[R2.25] two writers of one object: it is always one of the two, whole', async () => {
      const bodies = ['a', 'b'].map(letter => letter.repeat(100_000))
      for (let round = 0; round < 5; round += 1) {
        const [, , seen] = await Promise.all([
          put('both', bodies[0]),
          put('both', bodies[1]),
          read('both').catch(() => bodies[0] ?? ''),
        ])
        expect(bodies).toContain(seen)
        const { Body, ETag } = await s3.send(new GetObjectCommand({ Bucket: volume.bucket, Key: 'both' }))
        const last = (await Body?.transformToString()) ?? ''
        expect(bodies).toContain(last)
        expect(ETag).toBe(`"${createHash('md5').update(last).digest('hex')}"`)
      }
    })

    test('[R2.25] of many who put on the condition of one ETag one has put', async () => {
      const { ETag: IfMatch } = await put('counter', 'begun')
      const sent = Array.from({ length: 16 }, (_, each) =>
        s3
          .send(new PutObjectCommand({ Bucket: volume.bucket, Key: 'counter', Body: `by ${each}`, IfMatch }))
          .then(
            () => `by ${each}`,
            () => null,
          ),
      )
      expect((await Promise.all(sent)).filter(one => one !== null)).toEqual([await read('counter')])
    })

    test('[R2.25] after kill -9 what was acknowledged is there, and what was under way is not, and the server comes back by itself', async () => {
      const port = Number(new URL(volume.endpoint).port)
      const body = randomBytes(200_000)
      for (const name of ['one', 'two']) {
        const halfway = new PutObjectCommand({ Bucket: volume.bucket, Key: `killed/half-${name}` })
        const url = new URL(await getSignedUrl(s3, halfway))
        await cutPut(url, body, {
          bytes: body.length / 2,
          meanwhile: async () => {
            await put(`killed/${name}`, name.repeat(1_000))
            process.kill(await serverOn(port), 'SIGKILL')
          },
        })
        await eventually(async () => expect(await read(`killed/${name}`)).toBe(name.repeat(1_000)))
      }
      expect(await keys('killed/')).toEqual(['killed/one', 'killed/two'])
    })

    test('[R2.25] small objects side by side are all there, and listed by pages', async () => {
      const names = Array.from(
        { length: triesOf('objects') },
        (_, index) => `many/${String(index).padStart(5, '0')}`,
      )
      const left = [...names]
      await Promise.all(
        Array.from({ length: PUTS_AT_ONCE }, async () => {
          for (let name = left.pop(); name !== undefined; name = left.pop()) await put(name, name)
        }),
      )
      const seen: (string | undefined)[] = []
      let ContinuationToken: string | undefined
      do {
        const page = { Bucket: volume.bucket, Prefix: 'many/', MaxKeys: 128, ContinuationToken }
        const { Contents = [], NextContinuationToken } = await s3.send(new ListObjectsV2Command(page))
        seen.push(...Contents.map(({ Key }) => Key))
        ContinuationToken = NextContinuationToken
      } while (ContinuationToken)
      expect(seen).toEqual(names)
    })
  })

  describe('strangers', () => {
    test('[R2.25] what is no address is refused, and ends nothing', async () => {
      const port = Number(new URL(volume.endpoint).port)
      const before = await serverOn(port)
      for (const address of ['//', '///', '//[', '/\\', '//a:b/c', '/%', '/?%', '*', 'http://[']) {
        const said = await rawAnswer(new URL(volume.endpoint), `GET ${address} HTTP/1.1\r\nHost: a\r\n\r\n`)
        expect([address, said]).toEqual([address, expect.stringMatching(/^HTTP\/1\.1 4\d\d /)])
      }
      expect(await serverOn(port)).toBe(before)
    })

    test('[R2.25] those who connect and say nothing keep nobody out, and are few after a while', async () => {
      const { port, hostname } = new URL(volume.endpoint)
      const silent = Array.from({ length: 1_200 }, () => connect(Number(port), hostname))
      try {
        await Promise.all(silent.map(socket => once(socket.on('error', () => undefined).resume(), 'connect')))
        await put('spoken', 'spoken')
        await eventually(async () => {
          await put('spoken', 'again')
          connect(Number(port), hostname)
            .on('error', () => undefined)
            .end()
          const left = silent.filter(socket => !socket.closed).length
          // Not since each of them is closed after a minute.
          expect(left > 0 && left <= 200).toBe(true)
        })
      } finally {
        for (const socket of silent) socket.destroy()
      }
    })

    /** Has the server open so many files more, while something is done. */
    async function withHandles(more: number, work: () => Promise<void>): Promise<void> {
      const server = await serverOn(Number(new URL(volume.endpoint).port))
      const limits = readFileSync(`/proc/${server}/limits`, 'utf8')
      const [, soft = '', hard = ''] = /^Max open files +(\d+) +(\d+)/m.exec(limits) ?? []
      const limit = (to: string) =>
        promisify(execFile)('prlimit', ['--pid', String(server), `--nofile=${to}`])
      await limit(`${readdirSync(`/proc/${server}/fd`).length + more}:${hard}`)
      try {
        await work()
      } finally {
        await limit(`${soft}:${hard}`)
      }
    }

    test('[R2.25] a key of many folders takes no more handles than one of few', async () => {
      const keys = Array.from({ length: 8 }, (_, each) => `${`${each}/`.repeat(120)}file`)
      await withHandles(150, async () => {
        await Promise.all(keys.map(key => put(key)))
        expect(await Promise.all(keys.map(read))).toEqual(keys)
      })
    })

    test('[R2.25] lists of folders that lie deep leave handles to others', async () => {
      const deep = 'deep/'.repeat(200)
      mkdirSync(at(deep), { recursive: true })
      writeFileSync(at(deep, 'file'), '')
      const list = (Delimiter?: string) =>
        s3.send(new ListObjectsV2Command({ Bucket: volume.bucket, Prefix: 'deep/', Delimiter })).then(
          ({ KeyCount }) => KeyCount,
          error => error.name as string,
        )
      await withHandles(1_500, async () => {
        const said = await Promise.all(
          Array.from({ length: 12 }, (_, each) => list(each % 2 ? '/' : undefined)),
        )
        expect(said.filter(one => one !== 1 && one !== 'SlowDown')).toEqual([])
      })
      expect([await list(), await list('/')]).toEqual([1, 1])
      rmSync(at('deep'), { recursive: true })
    })
  })

  test(
    '[R2.25] any number of objects is listed by pages, in both versions, with and without a delimiter',
    async () => {
      const other = await gateway.volume()
      const client = clientOf(other)
      const number = (index: number) => String(index).padStart(6, '0')
      const count = triesOf('listed')
      // One folder has more than a page, and many have few.
      const flat = Array.from({ length: count * FLAT_SHARE }, (_, index) => `flat/${number(index)}`)
      const deep = Array.from(
        { length: count - flat.length },
        (_, index) => `deep/${index % 100}/${number(index)}`,
      )
      for (const folder of ['flat', ...Array.from({ length: 100 }, (_, index) => `deep/${index}`)])
        mkdirSync(join(other.path, folder), { recursive: true })
      for (const name of [...flat, ...deep]) writeFileSync(join(other.path, name), '')
      const list = async (version: 1 | 2, more: { Prefix?: string; Delimiter?: string }) => {
        const seen: string[] = []
        let next: string | undefined
        do {
          const asked = { Bucket: other.bucket, ...more }
          const page: ListObjectsCommandOutput & ListObjectsV2CommandOutput =
            version === 1
              ? await client.send(new ListObjectsCommand({ ...asked, Marker: next }))
              : await client.send(new ListObjectsV2Command({ ...asked, ContinuationToken: next }))
          const told = [
            ...(page.Contents ?? []).map(({ Key }) => Key ?? ''),
            ...(page.CommonPrefixes ?? []).map(({ Prefix }) => Prefix ?? ''),
          ]
          expect(told.length).toBeLessThanOrEqual(1_000)
          seen.push(...told)
          // Without a delimiter the first version goes on behind the last key, which clients know by themselves.
          next = version === 1 ? (page.NextMarker ?? seen.at(-1)) : page.NextContinuationToken
          if (page.IsTruncated !== true) next = undefined
        } while (next !== undefined)
        return seen
      }
      const inOrder = [...deep, ...flat].sort((a, b) => (a < b ? -1 : 1))
      for (const version of [1, 2] as const) {
        expect((await list(version, {})).join() === inOrder.join()).toBe(true)
        expect(await list(version, { Delimiter: '/' })).toEqual(['deep/', 'flat/'])
        expect((await list(version, { Prefix: 'deep/', Delimiter: '/' })).length).toBe(100)
        expect((await list(version, { Prefix: 'flat/', Delimiter: '/' })).join() === flat.join()).toBe(true)
      }
    },
    LONG_MS,
  )

  test(
    '[R2.25] an object of many parts is put together whole, and read at its end',
    async () => {
      const other = await gateway.volume({ sizeGb: 30 })
      const client = clientOf(other)
      const Bucket = other.bucket
      const count = triesOf('parts')
      const bytes = randomBytes(PART_BYTES)
      await client.send(new PutObjectCommand({ Bucket, Key: 'part', Body: bytes }))
      const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key: 'whole' }))
      const of = { Bucket, Key: 'whole', UploadId }
      const Parts: { PartNumber: number; ETag: string | undefined }[] = []
      for (let PartNumber = 1; PartNumber <= count; PartNumber += 1) {
        const copy = { ...of, PartNumber, CopySource: `${Bucket}/part` }
        const { CopyPartResult } = await client.send(new UploadPartCopyCommand(copy))
        Parts.push({ PartNumber, ETag: CopyPartResult?.ETag })
      }
      const { ETag } = await client.send(
        new CompleteMultipartUploadCommand({ ...of, MultipartUpload: { Parts } }),
      )
      expect(ETag).toMatch(new RegExp(`-${count}"$`))
      const size = count * PART_BYTES
      expect(statSync(join(other.path, 'whole')).size).toBe(size)
      const end = { Bucket, Key: 'whole', Range: `bytes=${size - PART_BYTES - 1}-` }
      const { Body, ContentRange } = await client.send(new GetObjectCommand(end))
      const got = Buffer.from((await Body?.transformToByteArray()) ?? [])
      expect(got.equals(Buffer.concat([bytes.subarray(-1), bytes]))).toBe(true)
      expect(ContentRange).toBe(`bytes ${size - PART_BYTES - 1}-${size - 1}/${size}`)
    },
    LONG_MS,
  )

  describe('keys', () => {
    test('[R2.25] [R6.4] a key reaches its own volume, and one that may read does not write', async () => {
      const other = await gateway.volume({ access: 'read_only' })
      const theirs = clientOf(other)
      const foreign = new GetObjectCommand({ Bucket: volume.bucket, Key: 'taken' })
      expect(await refusalOf(theirs.send(foreign))).toBe('404 NoSuchBucket')
      const write = new PutObjectCommand({ Bucket: other.bucket, Key: 'a', Body: 'a' })
      expect(await refusalOf(theirs.send(write))).toBe('403 AccessDenied')
      const mine = { Bucket: other.bucket, Key: 'a', CopySource: `${volume.bucket}/taken` }
      expect(await refusalOf(theirs.send(new CopyObjectCommand(mine)))).toBe('403 AccessDenied')
      const wrongRegion = clientOf({ ...other, region: 'eu-none' })
      const list = new ListObjectsV2Command({ Bucket: other.bucket })
      expect(await refusalOf(wrongRegion.send(list))).toBe('400 AuthorizationHeaderMalformed')
    })

    test('[R2.25] a secret is told once; a rotated key goes on for a day, a revoked one ends at once', async () => {
      const { gateway: api, token } = gateway
      const params = { id: volume.id }
      const made = await api.data(makeS3Key, { params, body: { access: 'read_write' } }, { token })
      const asClient = ({ access_key_id, secret_access_key }: typeof made) =>
        clientOf({ ...volume, accessKeyId: access_key_id, secretAccessKey: secret_access_key })
      const list = () => new ListObjectsV2Command({ Bucket: volume.bucket, MaxKeys: 1 })
      await asClient(made).send(list())
      const shown = await api.data(getVolumeS3, { params }, { token })
      expect(shown).toMatchObject({
        state: 'served',
        endpoint: volume.endpoint,
        bucket: volume.id,
        region: 'us-west',
      })
      expect(JSON.stringify(shown)).not.toContain(made.secret_access_key)
      await eventually(async () => {
        const { keys: now } = await api.data(getVolumeS3, { params }, { token })
        expect(now.find(key => key.access_key_id === made.access_key_id)).toMatchObject({
          access: 'read_write',
          secret_end: made.secret_access_key.slice(-4),
          last_used_from: '127.0.0.1',
        })
      })
      const named = { params: { ...params, access_key_id: made.access_key_id } }
      const next = await api.data(rotateS3Key, named, { token })
      await asClient(next).send(list())
      await asClient(made).send(list())
      const { keys: both } = await api.data(getVolumeS3, { params }, { token })
      const endsAt = both.find(key => key.access_key_id === made.access_key_id)?.ends_at
      expect(Math.round((Date.parse(endsAt ?? '') - Date.now()) / 3_600_000)).toBe(24)
      await api.data(revokeS3Key, named, { token })
      await eventually(async () =>
        expect(await refusalOf(asClient(made).send(list()))).toBe('403 InvalidAccessKeyId'),
      )
      await asClient(next).send(list())
    })

    test('[B4] a volume that machines have read-only is read by S3 and not written', async () => {
      const other = await gateway.volume()
      const client = clientOf(other)
      await client.send(new PutObjectCommand({ Bucket: other.bucket, Key: 'kept', Body: 'kept' }))
      const { db } = gateway.gateway.database
      // Until it is measured again, which is not soon.
      const now = new Date()
      const measureDueAt = new Date(now.getTime() + 3_600_000)
      const over = { unpaidSince: now, overSince: now, readOnlySince: now, measureDueAt }
      await db.update(volumeTable).set(over).where(eq(volumeTable.id, other.id))
      await db.execute(sql`select pg_notify('s3_key', '')`)
      const write = () => client.send(new PutObjectCommand({ Bucket: other.bucket, Key: 'new', Body: 'x' }))
      await eventually(async () => expect(await refusalOf(write())).toBe('403 VolumeReadOnly'))
      const { Body } = await client.send(new GetObjectCommand({ Bucket: other.bucket, Key: 'kept' }))
      expect(await Body?.transformToString()).toBe('kept')
    })
  })

  test('[R2.25] an object larger than its volume is refused before it is sent', async () => {
    const other = await gateway.volume({ sizeGb: 1 })
    const url = new URL(
      await getSignedUrl(clientOf(other), new PutObjectCommand({ Bucket: other.bucket, Key: 'big' })),
    )
    const head = `PUT ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\nContent-Length: 1073741825\r\n\r\n`
    expect(await rawAnswer(url, head)).toContain('<Code>EntityTooLarge</Code>')
  })
})

async function rawAnswer(url: URL, head: string): Promise<string> {
  const socket = connect(Number(url.port), url.hostname)
  socket.on('error', () => undefined)
  socket.write(head)
  let text = ''
  for await (const piece of socket) {
    text += String(piece)
    if (text.includes('</Error>')) break
  }
  socket.destroy()
  return text
}

/** The process that listens on a port of this computer: a child of this test's own. */
async function serverOn(port: number): Promise<number> {
  const inode = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map(line => line.trim().split(/\s+/))
    .find(
      ([, local, , state]) =>
        state === '0A' && local?.endsWith(`:${port.toString(16).toUpperCase().padStart(4, '0')}`),
    )?.[9]
  const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8').trim().split(' ')
  const found = children.find(pid => {
    try {
      // One that is closed between the two looks is not it.
      return readdirSync(`/proc/${pid}/fd`).some(
        fd => statSync(`/proc/${pid}/fd/${fd}`, { throwIfNoEntry: false })?.ino === Number(inode),
      )
    } catch {
      return false
    }
  })
  if (!found) throw new Error('nobody of ours listens there')
  return Number(found)
}
