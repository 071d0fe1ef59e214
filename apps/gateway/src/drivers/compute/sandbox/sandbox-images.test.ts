import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import pino from 'pino'
import { afterAll, describe, expect, test } from 'vitest'
import { describeConformance } from '../conformance/conformance.ts'
import { describeWhere, eventually, expectCode, never, text } from '../conformance/tools.ts'
import {
  hasRealRegistry,
  makeImage,
  type OddEntry,
  packOdd,
  startRealRegistry,
} from '../oci/registry-fixture.ts'
import { offered } from '../port/part.ts'
import { useImageEngine, usePrograms } from './image-engine-fixture.ts'
import { probeSandbox } from './probe-sandbox.ts'
import { createSandboxEngine } from './sandbox-engine.ts'

const log = pino({ level: 'silent' })
const probe = await probeSandbox()
if (!hasRealRegistry) process.stdout.write('SKIP at a real registry: docker-registry is not installed\n')

const folder = mkdtempSync(join(tmpdir(), 'berth-images-'))

describeWhere('images in sandboxes', probe, () => {
  const programs = usePrograms(folder)

  describe.skipIf(!hasRealRegistry)('at a real registry', () => {
    let real: Awaited<ReturnType<typeof startRealRegistry>>
    const image = { id: 'made', parts: { sandbox: { image: '' } } }
    describeConformance('a sandbox of an image', {
      makeEngine: async () => {
        if (image.parts.sandbox.image === '') {
          const bytes = gzipSync(programs.plain(), { level: 1 })
          const said = { Env: ['PATH=/usr/local/bin:/usr/bin:/bin'], WorkingDir: '/root' }
          real = await startRealRegistry(makeImage([{ bytes, packing: '+gzip' }], said))
          image.parts.sandbox.image = real.reference
        }
        const engine = await createSandboxEngine({ dataDir: join(folder, 'real'), log })
        expect(await engine.images.has(image)).toBe(false)
        await engine.images.pull(image, () => undefined, never)
        return engine
      },
      image,
      missingImage: { id: 'docker-only', parts: { docker: 'debian:12' } },
      imagesOnly: true,
      shutdownStops: true,
    })
    afterAll(() => real.close())
  })

  for (const launcher of ['bwrap', 'unshare'] as const) {
    describe(`a machine of an image by ${launcher}`, () => {
      const {
        engine: machines,
        make,
        start,
      } = useImageEngine(programs.packed, {
        ...{ dataDir: join(folder, launcher), launcher },
      })

      test('[B20] runs the image’s entry point as its user, where and with what the image says', async () => {
        const go = '#!/bin/sh\n(id -u; id -g; pwd; echo "$HOME $A $B $*") > ~/told\n'
        const said = {
          Entrypoint: ['/go', 'first'],
          Cmd: ['second'],
          Env: ['PATH=/usr/bin', 'A=a', 'B=b'],
          User: 'me',
          WorkingDir: '/srv/app',
        }
        const spec = await make('entry', [{ name: 'go', content: go, mode: 0o755 }], said, {
          env: { B: 'mine' },
        })
        await start('entry')
        const told = (words: string) =>
          eventually(async () =>
            expect(await text(machines(), 'entry', 'cat ~/told')).toBe(
              `1000\n1001\n/srv/app\n/home/me a mine ${words}\n`,
            ),
          )
        await told('first second')
        expect(await text(machines(), 'entry', 'id -u; pwd')).toBe('1000\n/srv/app\n')
        // Its own command ends unnoticed; the customer's takes its place behind the entry point.
        expect(await machines().observation.status('entry')).not.toHaveProperty('command_end')
        await machines().machines.stop('entry', never)
        await machines().machines.create({ ...spec, command: ['third'] }, never)
        await start('entry')
        await told('first third')
        const rights = await text(machines(), 'entry', 'grep -E "^(Cap|Seccomp:|NoNew)" /proc/self/status')
        expect(rights.match(/Cap\w+:\s+0+$/gm)).toHaveLength(5)
        expect(rights).toMatch(/NoNewPrivs:\s1\nSeccomp:\s2/)
      })

      test('keeps what it changed in its root, and nothing of that is used to start it', async () => {
        await offered(machines().volumes).make({ id: `v-${launcher}`, size_gb: 1 })
        const spec = await make('kept', [{ name: 'mnt/keep', content: '' }])
        await start('kept')
        const evil =
          'printf "#!/bin/sh\\necho evil > /evil\\n" > /usr/bin/setpriv; cp /usr/bin/setpriv /usr/bin/mount'
        await text(
          machines(),
          'kept',
          `echo mine > /mine; echo x > /etc/new; mv /proc /gone 2>/dev/null; ${evil};
           echo "$(id -u):x:0:0::/:/bin/sh" >> /etc/passwd; echo "passwd: evil" > /etc/nsswitch.conf;
           mv /etc /etc-2; mkdir /etc; echo /usr/lib/none.so > /etc/ld.so.preload 2>/dev/null; ls /mine`,
        )
        await machines().machines.stop('kept', never)
        const volumes = [{ id: `v-${launcher}`, path: '/mnt/deep/data', read_only: false }]
        await machines().machines.create({ ...spec, volumes }, never)
        await start('kept')
        expect(
          await text(
            machines(),
            'kept',
            'cat /mine; ls -d /proc/1 /etc-2/new; echo v > /mnt/deep/data/file; ls /evil 2>&1; true',
          ),
        ).toMatch(/^mine\n\/etc-2\/new\n\/proc\/1\n.*No such file/s)
        await machines().machines.stop('kept', never)

        // A volume is put nowhere that a link of the machine's leads to.
        await machines().machines.create({ ...spec, volumes: [] }, never)
        await start('kept')
        await text(machines(), 'kept', 'rm -rf /mnt && ln -s /etc /mnt')
        await machines().machines.stop('kept', never)
        await machines().machines.create({ ...spec, volumes }, never)
        await expect(machines().machines.start('kept', never)).rejects.toThrow('a link is where a volume')
        await machines().machines.remove('kept', never)
        expect(await machines().observation.status('kept')).toEqual({ state: 'absent' })
      })
    })
  }

  describe('a machine of an image that means harm', () => {
    const {
      engine: machines,
      fetched,
      make,
      start,
    } = useImageEngine(programs.packed, {
      ...{ dataDir: join(folder, 'folders'), homes: 'folders' },
    })

    test('is made of what its image holds and of nothing beside it', async () => {
      const before = readdirSync(folder).sort()
      const passwd = readFileSync('/etc/passwd', 'utf8')
      await make('odd', [
        { name: 'escape', type: '2', target: '../../../../../../../../etc' },
        { name: 'escape/passwd', content: 'evil' },
        { name: 'null', type: '3' },
        { name: 'proc', type: '2', target: '/etc' },
        { name: '.berth', content: 'evil' },
        { name: 'setuid', mode: 0o4755 },
      ])
      await start('odd')
      expect(await text(machines(), 'odd', 'cat /etc/passwd; ls -d /null 2>&1; true')).toMatch(
        /^evil.*No such/s,
      )
      expect(await text(machines(), 'odd', 'stat -c %a /setuid; cat /proc/sys/kernel/hostname')).toBe(
        '755\nodd\n',
      )
      expect(readFileSync('/etc/passwd', 'utf8')).toBe(passwd)
      expect(readdirSync(folder).sort()).toEqual(before)
    })

    test.each<[string, OddEntry[]]>([
      ['a name that leads out', [{ name: '../../outside' }]],
      ['a user that is not there', []],
    ])('is not made of an image with %s, and leaves nothing', async (name, entries) => {
      const said = entries.length === 0 ? { User: 'nobody-here' } : {}
      await expectCode(make('bad', entries, said), 'image_unfit')
      expect(await machines().observation.status('bad')).toEqual({ state: 'absent' })
      expect(name).not.toBe('')
    })

    test('is not made of a layer that is another than the image says, although the registry has it so', async () => {
      const bytes = packOdd([{ name: 'swapped' }])
      const layer = { bytes: gzipSync(bytes), packing: '+gzip' as const }
      const failed = fetched('swapped', makeImage([{ ...layer, holds: packOdd([{ name: 'meant' }]) }]))
      await expect(failed).rejects.toThrow('a layer of it is not what it says it is')
      await expectCode(failed, 'image_damaged')
    })
  })
})
