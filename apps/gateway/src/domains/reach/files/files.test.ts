import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import {
  type FileEntry,
  type FileListing,
  listFiles,
  makeFolder,
  planUpload,
  removeFile,
  renameFile,
  startFileDownload,
} from '@berth/contract/files'
import { UPLOAD_PLAN_FILES_MAX } from '@berth/contract/limits'
import Docker from 'dockerode'
import fc from 'fast-check'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { triesOf } from '../../../../test/long-runs.ts'
import { sendCall } from '../../../../test/start-gateway.ts'
import { smallMachine } from '../../../drivers/compute/conformance/small-machine.ts'
import { never } from '../../../drivers/compute/conformance/tools.ts'
import { removeCloud } from '../../../drivers/compute/docker/docker-cloud-fixture.ts'
import { createDockerEngine } from '../../../drivers/compute/docker/docker-engine.ts'
import { probeDocker } from '../../../drivers/compute/docker/probe-docker.ts'
import { importTestImage } from '../../../drivers/compute/docker/test-image.ts'
import type { Engine } from '../../../drivers/compute/port/engine.ts'
import type { ImageRecipe } from '../../../drivers/compute/port/images.ts'
import { probeSandbox } from '../../../drivers/compute/sandbox/probe-sandbox.ts'
import { createSandboxEngine } from '../../../drivers/compute/sandbox/sandbox-engine.ts'
import { type ConnectFixture, eventually, startConnectFixture } from '../reach-fixture.ts'
import { filesOf } from './files-fixture.ts'

// Goal: files of a running instance, as a console moves them. Method: the real server and its rules, and a real machine
// of each engine that runs programs; what stands in the machine is looked at by its own programs.

const SETUP_MS = 180_000
const MANY = 1_000
const RUNS = 12
const KIB = 1024
const log = pino({ level: 'silent' })
const run = promisify(execFile)
const [sandbox, docker] = await Promise.all([probeSandbox(), probeDocker()])

/** An engine with an image for a small machine. */
interface Opened {
  engine: Engine
  image: ImageRecipe
  end(): Promise<void>
}

/** Where machines are, why they may not be here, and what their image lacks. */
const PLACES: { name: string; missing: string | null; hasTar: boolean; open(): Promise<Opened> }[] = [
  {
    name: 'a sandbox',
    missing: sandbox.ok ? null : sandbox.why,
    hasTar: true,
    async open() {
      const dataDir = mkdtempSync(join(tmpdir(), 'berth-files-'))
      const engine = await createSandboxEngine({ dataDir, log })
      const end = async () => rmSync(dataDir, { recursive: true, force: true })
      return { engine, image: { id: 'host', parts: { sandbox: 'host' } }, end }
    },
  },
  {
    name: 'Docker',
    missing: docker.ok ? null : docker.why,
    hasTar: false,
    async open() {
      const socketPath = docker.ok ? docker.socket_path : ''
      const client = new Docker({ socketPath })
      const reference = await importTestImage(client)
      const cloudId = `files${randomBytes(3).toString('hex')}`
      const engine = await createDockerEngine({
        place: { kind: 'unix', socket_path: socketPath },
        cloudId,
        egress: null,
        log,
      })
      const end = () => removeCloud(client, cloudId)
      return { engine, image: { id: 'test', parts: { docker: reference } }, end }
    },
  },
]

for (const { name, missing } of PLACES) {
  if (missing !== null) process.stdout.write(`SKIP files of an instance on ${name}: ${missing}\n`)
}

/** What people and programs call files, and what a shell would make something else of. */
const ODD = [
  '-rf',
  '--',
  'a b',
  '$(id)',
  '`id`',
  '"',
  "it's",
  'new\nline',
  'end\n',
  '\n',
  '*',
  '?',
  '\\',
  '\\n%s',
  '漢é',
  '.hidden',
  '..odd',
  '~',
  '#',
  ';',
  '&',
  '|',
  '<',
  '\t',
  '\x7f',
  '%41',
  '+',
  '🙂',
]
/** What an address refused with: its status, its code, and what it says of the whole. */
async function refusalOf({ response }: { response: Response }) {
  const { code } = (await response.json()) as { code: string }
  return [response.status, code, response.headers.get('content-range')]
}

const fileName = fc
  .array(fc.oneof(fc.constantFrom(...ODD), fc.string({ unit: 'binary', maxLength: 4 })), {
    minLength: 1,
    maxLength: 6,
  })
  .map(parts => parts.join(''))
  .filter(
    name =>
      name.isWellFormed() &&
      !/[/\0]/.test(name) &&
      !['.', '..', ''].includes(name) &&
      Buffer.byteLength(name) <= 255,
  )

describe.each(PLACES.filter(({ missing }) => missing === null))(
  'files of an instance on $name',
  ({ open, hasTar }) => {
    let opened: Opened
    let gateway: ConnectFixture
    let id: string
    let files: ReturnType<typeof filesOf>

    beforeAll(async () => {
      opened = await open()
      const { engine, image } = opened
      gateway = await startConnectFixture(engine)
      ;({ id } = await gateway.addInstance())
      files = filesOf(gateway, id)
      await engine.machines.create(smallMachine(id, image, { memory_mb: 512 }), never)
      await engine.machines.start(id, never)
    }, SETUP_MS)
    afterAll(async () => {
      await gateway?.close()
      await opened?.engine.machines.remove(id, never)
      await opened?.engine.shutdown()
      await opened?.end()
    }, SETUP_MS)

    const inMachine = async (line: string) => {
      const { exit_code, stdout, stderr } = await opened.engine.console.exec(id, ['sh', '-c', line])
      expect(stderr, line).toBe('')
      expect(exit_code, line).toBe(0)
      return stdout
    }
    const list = async (path: string) => {
      const entries: FileEntry[] = []
      for (let from: number | null = 0; from !== null; ) {
        const page: FileListing = await files.ask(listFiles, { query: { path, from } })
        entries.push(...page.entries)
        from = page.next
      }
      return entries
    }
    const bytesOf = async (path: string) => {
      const { response } = await files.save(path)
      expect(response.status).toBe(200)
      return Buffer.from(await response.arrayBuffer())
    }

    test(
      '[B19] whatever a file is called, and whatever is in it, comes back as it was',
      async () => {
        await inMachine('mkdir -p /tmp/odd')
        const written = new Set<string>()
        await fc.assert(
          fc.asyncProperty(
            fileName,
            fc.uint8Array({ maxLength: 40 * KIB, size: 'max' }),
            async (name, content) => {
              const file = { path: `/tmp/odd/${name}`, bytes: Buffer.from(content) }
              expect(await files.send(file, { replace: true })).toEqual({
                have_bytes: content.length,
                is_done: true,
              })
              written.add(name)
              expect((await bytesOf(file.path)).equals(file.bytes)).toBe(true)
              expect((await list('/tmp/odd')).map(one => one.name).toSorted()).toEqual(
                [...written].toSorted(),
              )
            },
          ),
          {
            numRuns: RUNS,
            examples: ODD.filter(name => !name.includes('/'))
              .slice(0, 14)
              .map(name => [name, new Uint8Array([0, 10, 255])]),
          },
        )
        expect(await inMachine('ls -A /tmp/odd | grep -c part || true')).toBe('0\n')
      },
      SETUP_MS,
    )

    test('[B19] a folder shows what is in it, links as what they lead to, and a name that is no text', async () => {
      await inMachine(
        'mkdir -p /tmp/shown/sub && cd /tmp/shown && echo hello >a && chmod 640 a && touch -d @1700000000 a && ln -s sub to && ln -s none broken && touch "$(printf \'x\\377\')" && ln -s /dev/null nothing',
      )
      const shown = Object.fromEntries((await list('/tmp/shown')).map(one => [one.name, one]))
      expect(shown.a).toEqual({
        name: 'a',
        kind: 'file',
        is_link: false,
        size: 6,
        mode: '0640',
        can_be_named: true,
        modified_at: '2023-11-14T22:13:20.000Z',
      })
      expect(shown.to).toMatchObject({ kind: 'folder', is_link: true })
      expect(shown.sub).toMatchObject({ kind: 'folder', is_link: false })
      expect(shown.broken).toMatchObject({ kind: 'other', is_link: true })
      expect(shown.nothing).toMatchObject({ kind: 'other', is_link: true })
      expect(shown['x\ufffd']).toMatchObject({ kind: 'file', can_be_named: false })
      await inMachine('rm -r /tmp/shown')
      await expect(list('/tmp/shown')).rejects.toThrow('file_not_found')
      await expect(list('/bin/sh')).rejects.toThrow('file_wrong_kind')
      expect((await files.ask(listFiles, { query: {} })).path).toMatch(/^\//)
    })

    test('[B19] an upload that was cut goes on where it was, and gives the same bytes', async () => {
      const file = { path: '/tmp/cut/into/half.bin', bytes: randomBytes(700 * KIB) }
      const half = 300 * KIB
      const { request, answered } = files.begin(file)
      request.write(file.bytes.subarray(0, half))
      const state = async () =>
        (await files.ask(planUpload, { body: { files: [files.figuresOf(file)] } })).files[0]
      await eventually('half of it in the machine', async () => (await state())?.have_bytes === half)
      request.destroy()
      await expect(answered).rejects.toThrow()
      expect(await list('/tmp/cut/into')).toMatchObject([
        { name: expect.stringMatching(/^\.berth-.*\.part$/) },
      ])
      // Only from where it was: what another place would leave is no file of anybody's.
      await expect(files.send(file, { offset: half - 1 })).rejects.toThrow('file_out_of_step')
      expect(await state()).toMatchObject({ have_bytes: half, existing: null, is_same: false })
      // The second piece, and what came before it once more.
      const next = { offset: half, length: 100 * KIB, verify_from: 0 }
      expect(await files.send(file, next)).toEqual({ have_bytes: 400 * KIB, is_done: false })
      expect(await files.send(file, { offset: 400 * KIB })).toMatchObject({ is_done: true })
      expect((await bytesOf(file.path)).equals(file.bytes)).toBe(true)
      expect(await list('/tmp/cut/into')).toMatchObject([{ name: 'half.bin', size: file.bytes.length }])
      expect(await state()).toMatchObject({ is_same: true, have_bytes: 0 })
    })

    test('[B19] a download goes on from where it was while the file is the same', async () => {
      const file = { path: '/tmp/again.bin', bytes: randomBytes(200 * KIB) }
      await files.send(file)
      const first = await files.save(file.path, { range: 'bytes=0-99999' })
      expect(first.response.status).toBe(206)
      expect(first.response.headers.get('content-range')).toBe(`bytes 0-99999/${200 * KIB}`)
      const begun = Buffer.from(await first.response.arrayBuffer())
      const tag = first.response.headers.get('etag') ?? ''
      const rest = await files.save(file.path, { range: 'bytes=100000-', 'if-range': tag })
      expect(rest.response.status).toBe(206)
      const whole = Buffer.concat([begun, Buffer.from(await rest.response.arrayBuffer())])
      expect(whole.equals(file.bytes)).toBe(true)
      for (const from of [200 * KIB, 200 * KIB + 1]) {
        const past = await files.save(file.path, { range: `bytes=${from}-` })
        expect(await refusalOf(past)).toEqual([416, 'file_range', `bytes */${200 * KIB}`])
      }
      await files.send({ ...file, modified_at: 1_700_000_001 }, { replace: true })
      const changed = await files.save(file.path, { range: 'bytes=100000-', 'if-range': tag })
      expect(changed.response.status).toBe(200)
      expect((await changed.response.arrayBuffer()).byteLength).toBe(200 * KIB)
      const begin = await files.save(file.path, { range: 'bytes=0-99', 'if-range': tag })
      expect(begin.response.status).toBe(200)
      expect((await begin.response.arrayBuffer()).byteLength).toBe(200 * KIB)
    })

    test('[B19] an empty file is saved whole, and has no part that could be asked for', async () => {
      await files.send({ path: '/tmp/empty.bin', bytes: Buffer.alloc(0) })
      const { response } = await files.save('/tmp/empty.bin')
      expect([response.status, response.headers.get('content-length')]).toEqual([200, '0'])
      for (const range of ['bytes=0-', 'bytes=0-9', 'bytes=5-']) {
        const past = await files.save('/tmp/empty.bin', { range })
        expect(await refusalOf(past)).toEqual([416, 'file_range', 'bytes */0'])
      }
    })

    test('[B19] what stands there gives way only where that is said, and a folder never', async () => {
      const file = { path: '/tmp/stands/tool.sh', bytes: Buffer.from('new') }
      await inMachine(
        'mkdir -p /tmp/stands/tool.d && echo old >/tmp/stands/tool.sh && chmod 755 /tmp/stands/tool.sh',
      )
      await expect(files.send(file)).rejects.toThrow('file_exists')
      expect(await inMachine('cat /tmp/stands/tool.sh')).toBe('old\n')
      await files.send(file, { replace: true })
      expect(await inMachine('cat /tmp/stands/tool.sh; stat -c %a /tmp/stands/tool.sh')).toBe('new755\n')
      await expect(files.send({ ...file, path: '/tmp/stands/tool.d' }, { replace: true })).rejects.toThrow(
        'file_wrong_kind',
      )
      await expect(files.send({ ...file, path: '/tmp/stands/tool.sh/below' })).rejects.toThrow(
        'file_wrong_kind',
      )
    })

    test.runIf(hasTar)('[B19] bytes that came as others than were sent are no file', async () => {
      const file = { path: '/tmp/damaged.bin', bytes: randomBytes(10 * KIB) }
      const other = createHash('sha256').update('other').digest('hex')
      await expect(files.send(file, { sha256: other })).rejects.toThrow('file_damaged')
      await expect(bytesOf(file.path)).rejects.toThrow()
      expect(await inMachine('ls -A /tmp | grep -c "\\.part$" || true')).toBe('0\n')
      expect(await files.send(file)).toMatchObject({ is_done: true })
    })

    test('[B19] of a piece as much is taken as was announced', async () => {
      const file = { path: '/tmp/short.bin', bytes: randomBytes(10 * KIB) }
      const less = files.begin(file)
      less.request.end(file.bytes.subarray(1))
      await expect(less.answered).rejects.toThrow('file_out_of_step')
      const more = files.begin(file)
      more.request.end(Buffer.concat([file.bytes, Buffer.from('x')]))
      await expect(more.answered).rejects.toThrow('body_too_large')
      await expect(files.send(file, { offset: 1, length: file.bytes.length })).rejects.toThrow(
        'file_out_of_step',
      )
    })

    test('[B19] folders are made, renamed and removed, and nothing gives way by accident', async () => {
      await files.ask(makeFolder, { body: { path: '/tmp/made/-deep/one' } })
      await expect(files.ask(makeFolder, { body: { path: '/tmp/made' } })).rejects.toThrow('file_exists')
      await files.send({ path: '/tmp/made/-deep/one/x', bytes: Buffer.from('x') })
      await expect(files.ask(removeFile, { body: { path: '/tmp/made' } })).rejects.toThrow(
        // The small image has no program for it.
        hasTar ? 'file_folder_not_empty' : 'files_no_tool',
      )
      await files.ask(makeFolder, { body: { path: '/tmp/taken' } })
      const rename = (path: string, to: string) => files.ask(renameFile, { body: { path, to } })
      await expect(rename('/tmp/made', '/tmp/taken')).rejects.toThrow('file_exists')
      await expect(rename('/tmp/none', '/tmp/other')).rejects.toThrow('file_not_found')
      await rename('/tmp/made/-deep', '/tmp/taken/ -n "$(x)"\n')
      expect(await list('/tmp/taken')).toMatchObject([{ name: ' -n "$(x)"\n', kind: 'folder' }])
      await files.ask(removeFile, { body: { path: '/tmp/taken', with_content: true } })
      await expect(list('/tmp/taken')).rejects.toThrow('file_not_found')
      await expect(files.ask(removeFile, { body: { path: '/tmp/none' } })).rejects.toThrow('file_not_found')
      await expect(files.ask(removeFile, { body: { path: '/', with_content: true } })).rejects.toThrow(
        'file_denied',
      )
    })

    test('[B19] a path leads down from the root by names, or is refused with a sentence', async () => {
      const refusal = async (path: string) => {
        const { envelope } = await sendCall(
          gateway.server.origin,
          listFiles,
          { params: { id }, query: { path } },
          { token: 'anna' },
        )
        return envelope.status === 'error' ? envelope.fields?.[0] : envelope.status
      }
      for (const path of ['tmp', '/tmp/../etc', '/tmp/.', '/tmp//x', '/tmp/', '../etc']) {
        expect(await refusal(path)).toMatchObject({ rule: 'file_path', msg: expect.stringContaining('root') })
      }
      expect(await refusal('/tmp/a\0b')).toMatchObject({ rule: 'not_allowed' })
      expect(await refusal(`/${'x'.repeat(5_000)}`)).toMatchObject({ rule: 'too_long' })
      await expect(list(`/tmp/${'x'.repeat(300)}`)).rejects.toThrow('file_failed')
    })

    test('[B19] [R7.8] what is saved is never a page of the console’s, and its address opens once', async () => {
      const file = { path: '/tmp/<script>"ü\n.html', bytes: Buffer.from('<script>alert(1)</script>') }
      await files.send(file)
      const { response, address } = await files.save(file.path)
      const header = (name: string) => response.headers.get(name)
      expect(header('content-type')).toBe('application/octet-stream')
      expect(header('x-content-type-options')).toBe('nosniff')
      expect(header('content-disposition')).toBe(
        `attachment; filename="<script>___.html"; filename*=UTF-8''%3Cscript%3E%22%C3%BC%0A.html`,
      )
      expect(header('content-security-policy')).toContain('sandbox')
      expect(await response.text()).toBe('<script>alert(1)</script>')
      const again = await fetch(gateway.server.origin + address)
      expect([again.status, ((await again.json()) as { code: string }).code]).toEqual([
        410,
        'download_ticket_invalid',
      ])
      const { path: late } = await files.ask(startFileDownload, { body: { path: file.path } })
      gateway.clock.offsetMs += 31_000
      expect((await fetch(gateway.server.origin + late)).status).toBe(410)
      gateway.clock.offsetMs = 0
      // A ticket is for one path, whatever its address is made into.
      const { path: mine } = await files.ask(startFileDownload, { body: { path: file.path } })
      const other = mine.replace(/path=.*/, 'path=%2Fetc%2Fpasswd')
      expect((await fetch(gateway.server.origin + other)).status).toBe(410)
      // A ticket for a terminal opens no file.
      const terminal = await gateway.ticket(id)
      expect((await fetch(`${gateway.server.origin}/gateway/file-download/${terminal}`)).status).toBe(410)
    })

    test(
      '[B19] a folder with a thousand files goes there and comes back',
      async () => {
        const count = triesOf('uploads')
        const wanted = Array.from({ length: count }, (_, at) => ({
          path: `/tmp/many/part ${at % 7}/file-${at}`,
          bytes: randomBytes(1 + (at % 300)),
        }))
        const left = [...wanted]
        for (let at = 0; at < count; at += UPLOAD_PLAN_FILES_MAX) {
          const asked = wanted.slice(at, at + UPLOAD_PLAN_FILES_MAX).map(files.figuresOf)
          const { files: states } = await files.ask(planUpload, { body: { files: asked } })
          expect(states.every(({ existing, have_bytes }) => existing === null && have_bytes === 0)).toBe(true)
        }
        const worker = async () => {
          for (let file = left.pop(); file; file = left.pop()) await files.send(file)
        }
        await Promise.all(Array.from({ length: 4 }, worker))
        expect(await inMachine('find /tmp/many -type f | wc -l')).toBe(`${count}\n`)
        expect((await list('/tmp/many/part 3')).length).toBe(Math.ceil((count - 3) / 7))
        await inMachine('mkdir /tmp/flat && find /tmp/many -type f -exec mv {} /tmp/flat \\;')
        // The machine makes the rest: a thousand in all are more than one answer lists.
        await inMachine(`i=${count}; while [ $i -lt ${MANY} ]; do : > /tmp/flat/file-$i; i=$((i + 1)); done`)
        expect((await list('/tmp/flat')).map(({ name }) => name).toSorted()).toEqual(
          Array.from({ length: MANY }, (_, at) => `file-${at}`).toSorted(),
        )
        const { response } = await files.save('/tmp/flat')
        if (!hasTar) {
          expect(((await response.json()) as { code: string }).code).toBe('files_no_tool')
          return
        }
        expect(response.headers.get('content-disposition')).toContain('flat.tar')
        const folder = mkdtempSync(join(tmpdir(), 'berth-files-tar-'))
        const untar = run('tar', ['-xf', '-', '-C', folder])
        untar.child.stdin?.end(await buffer(response.body as never))
        await untar
        for (const { path, bytes } of wanted.slice(0, 50)) {
          const { stdout } = await run('sha256sum', [
            join(folder, 'flat', path.slice(path.lastIndexOf('/') + 1)),
          ])
          expect(stdout.slice(0, 64)).toBe(createHash('sha256').update(bytes).digest('hex'))
        }
        rmSync(folder, { recursive: true })
      },
      SETUP_MS,
    )

    test('[B19] [R6.4] nobody else has anything of them, and a missing instance is told alike', async () => {
      for (const other of [filesOf(gateway, id, 'ben'), filesOf(gateway, 'i-nowhere')]) {
        await expect(other.ask(listFiles, { query: {} })).rejects.toThrow('not_found')
        await expect(other.send({ path: '/tmp/x', bytes: Buffer.from('x') })).rejects.toThrow('not_found')
        await expect(other.save('/tmp/x')).rejects.toThrow('not_found')
      }
    })

    test(
      '[B19] an instance that stops in the middle ends what is under way, and says so',
      async () => {
        const file = { path: '/tmp/stopped.bin', bytes: randomBytes(64 * KIB) }
        const { request, answered } = files.begin(file)
        request.write(file.bytes.subarray(0, 1_000))
        await eventually(
          'some of it in the machine',
          async () =>
            (await files.ask(planUpload, { body: { files: [files.figuresOf(file)] } })).files[0]?.have_bytes,
        )
        await gateway.setStatus(id, 'stopped')
        await opened.engine.machines.stop(id, never)
        await expect(answered).rejects.toThrow('instance_not_running')
        request.destroy()
        await expect(list('/tmp')).rejects.toThrow('instance_not_running')
        await expect(files.save('/tmp/stopped.bin')).rejects.toThrow('instance_not_running')
      },
      SETUP_MS,
    )
  },
)
