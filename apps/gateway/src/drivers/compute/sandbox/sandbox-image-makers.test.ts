import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { zstdCompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { triesOf } from '../../../../test/long-runs.ts'
import { smallMachine } from '../conformance/small-machine.ts'
import { describeWhere, never, text } from '../conformance/tools.ts'
import { layTestTree } from '../docker/test-image.ts'
import { hasRealRegistry, isInstalled, makeImage, startRealRegistry } from '../oci/registry-fixture.ts'
import { useImageEngine } from './image-engine-fixture.ts'
import { probeSandbox } from './probe-sandbox.ts'

const probe = await probeSandbox()
const isRoot = process.getuid?.() === 0
const folder = mkdtempSync(join(tmpdir(), 'berth-image-makers-'))
const run = promisify(execFile)
const MAKE_TIMEOUT_MS = 600_000

/** Skips with a line where a program is not on this computer. */
function lacks(what: string, ...programs: string[]): boolean {
  const missing = programs.filter(program => !isInstalled(program))
  if (!isRoot) missing.push('root')
  if (missing.length > 0) process.stdout.write(`SKIP ${what}: there is no ${missing.join(', no ')}\n`)
  return missing.length > 0
}

/** What all of them make: a userland in one file, of which a layer takes something away again. */
function layBusybox(root: string): void {
  mkdirSync(join(root, 'bin'), { recursive: true })
  cpSync('/bin/busybox', join(root, 'bin/busybox'))
  for (const name of ['sh', 'ls', 'cat', 'id', 'stat', 'sleep', 'su', 'chown']) {
    symlinkSync('busybox', join(root, 'bin', name))
  }
  mkdirSync(join(root, 'srv/gone'), { recursive: true })
  mkdirSync(join(root, 'etc'))
  writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0::/:/bin/sh\nwww:x:33:44::/srv:/bin/sh\n')
  writeFileSync(join(root, 'etc/group'), 'root:x:0:\nwww:x:44:\n')
  writeFileSync(join(root, 'srv/theirs'), 'theirs\n', { mode: 0o600 })
  execFileSync('chown', ['33:44', join(root, 'srv/theirs')])
}

describeWhere('images as other tools make them', probe, () => {
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const { engine, fetched } = useImageEngine(() => Buffer.alloc(0), { dataDir: join(folder, 'data') })
  const inside = (id: string, line: string) => text(engine(), id, line)

  async function start(id: string, reference: string): Promise<void> {
    const recipe = { id, parts: { sandbox: { image: reference } } }
    await engine().images.pull(recipe, () => undefined, never)
    await engine().machines.create(smallMachine(id, recipe), never)
    await engine().machines.start(id, never)
    await engine().machines.begin(id, never)
  }

  describe.skipIf(lacks('images of umoci, skopeo and buildah', 'busybox') || !hasRealRegistry)(
    'a userland',
    () => {
      let registry: Awaited<ReturnType<typeof startRealRegistry>>
      const layout = join(folder, 'layout')
      beforeAll(async () => {
        registry = await startRealRegistry(makeImage([]))
      })
      afterAll(() => registry.close())

      /** An OCI layout of two layers: the second takes a folder away and adds a file. */
      async function makeLayout(): Promise<void> {
        const image = `${layout}:1`
        const bundle = join(folder, 'bundle')
        const unpacked = async () => {
          rmSync(bundle, { recursive: true, force: true })
          await run('umoci', ['unpack', '--image', image, bundle])
          return join(bundle, 'rootfs')
        }
        await run('umoci', ['init', '--layout', layout])
        await run('umoci', ['new', '--image', image])
        layBusybox(await unpacked())
        await run('umoci', ['repack', '--image', image, bundle])
        const root = await unpacked()
        rmSync(join(root, 'srv/gone'), { recursive: true })
        writeFileSync(join(root, 'srv/added'), 'added\n')
        await run('umoci', ['repack', '--image', image, bundle])
        const said = ['--config.entrypoint', '/bin/sleep', '--config.cmd', '4243', '--config.env', 'A=b']
        await run('umoci', ['config', '--image', image, ...said, '--config.workingdir', '/srv'])
      }

      async function expectRuns(id: string): Promise<void> {
        expect(await inside(id, 'echo $A; pwd; ls; stat -c %u:%g:%a theirs')).toBe(
          'b\n/srv\nadded\ntheirs\n33:44:600\n',
        )
        expect(await inside(id, 'su www -c "id -u; cat theirs"; chown www added; stat -c %u:%g added')).toBe(
          '33\ntheirs\n33:0\n',
        )
      }

      test.skipIf(lacks('images of umoci and skopeo', 'umoci', 'skopeo'))(
        'that umoci made and skopeo brought runs, as OCI has images and as Docker has them, with its owners',
        async () => {
          await makeLayout()
          for (const [id, format] of [
            ['as-oci', 'oci'],
            ['as-docker', 'v2s2'],
          ] as const) {
            const reference = `${registry.host}/t/${id}:1`
            const how = ['--insecure-policy', 'copy', '--dest-tls-verify=false', '--format', format]
            await run('skopeo', [...how, `oci:${layout}:1`, `docker://${reference}`])
            await start(id, reference)
            await expectRuns(id)
            await engine().machines.remove(id, never)
          }
        },
      )

      test.skipIf(lacks('images of buildah', 'buildah'))(
        'that buildah made runs, with its owners',
        async () => {
          const store = [
            '--storage-driver',
            'vfs',
            '--root',
            join(folder, 'store'),
            '--runroot',
            join(folder, 'run'),
          ]
          const buildah = (...words: string[]) => run('buildah', [...store, ...words])
          const root = join(folder, 'buildah-root')
          layBusybox(root)
          rmSync(join(root, 'srv/gone'), { recursive: true })
          writeFileSync(join(root, 'srv/added'), 'added\n')
          const reference = `${registry.host}/t/buildah:1`
          await buildah('from', '--name', 'made', 'scratch')
          await buildah('copy', 'made', root, '/')
          // It gives all that it copies to root.
          await buildah('copy', '--chown', '33:44', 'made', join(root, 'srv/theirs'), '/srv/theirs')
          await buildah(
            'config',
            '--env',
            'A=b',
            '--workingdir',
            '/srv',
            '--cmd',
            '["/bin/sleep", "4243"]',
            'made',
          )
          await buildah('commit', '--quiet', '--tls-verify=false', 'made', `docker://${reference}`)
          await start('of-buildah', reference)
          await expectRuns('of-buildah')
        },
      )
    },
  )

  /** A package with a file of a user whom only its own script makes. */
  async function makePackage(): Promise<string> {
    const tree = join(folder, 'package')
    mkdirSync(join(tree, 'DEBIAN'), { recursive: true })
    mkdirSync(join(tree, 'var/lib/svc'), { recursive: true })
    writeFileSync(join(tree, 'var/lib/svc/data'), 'data\n', { mode: 0o640 })
    execFileSync('chown', ['www-data:4242', join(tree, 'var/lib/svc/data')])
    const control = {
      Package: 'svc',
      Version: '1',
      Architecture: 'all',
      Maintainer: 'T <t@example.com>',
      Description: 't',
    }
    const lines = Object.entries(control).map(([key, value]) => `${key}: ${value}\n`)
    writeFileSync(join(tree, 'DEBIAN/control'), lines.join(''))
    const postinst = `#!/bin/sh
set -e
useradd --system --user-group --create-home --home-dir /home/svc svc
chown svc:svc /var/lib/svc
setpriv --reuid svc --regid svc --clear-groups touch /var/lib/svc/made
`
    writeFileSync(join(tree, 'DEBIAN/postinst'), postinst)
    chmodSync(join(tree, 'DEBIAN/postinst'), 0o755)
    const path = join(folder, 'svc.deb')
    await run('dpkg-deb', ['--build', tree, path])
    return path
  }

  /** Installs the package in a machine of a tree, and looks at what came of it. */
  async function expectInstalls(id: string, tree: string): Promise<void> {
    cpSync(await makePackage(), join(tree, 'root/svc.deb'))
    const { stdout } = await promisify(execFile)('tar', ['-C', tree, '-c', '.'], {
      ...{ encoding: 'buffer', maxBuffer: 2 ** 30 },
    })
    const image = makeImage([{ bytes: zstdCompressSync(stdout), packing: '+zstd' }])
    const recipe = await fetched(id, image)
    await engine().machines.create(smallMachine(id, recipe, { disk_gb: 2, memory_mb: 512 }), never)
    await engine().machines.start(id, never)
    const argv = ['sh', '-c', 'apt-get install -y /root/svc.deb 2>&1']
    const said = await engine().console.exec(id, argv, { timeout_ms: 120_000 })
    expect(said.stdout).toContain('Setting up svc')
    expect(said.stdout).not.toMatch(/^[EW]:|rror/m)
    expect(said.exit_code).toBe(0)
    expect(await inside(id, 'cd /var/lib/svc; stat -c %U:%g:%a data; stat -c %U:%G . made /home/svc')).toBe(
      'www-data:4242:640\nsvc:svc\nsvc:svc\nsvc:svc\n',
    )
  }

  const APT = [
    ...'apt-get dpkg dpkg-deb dpkg-split dpkg-query tar gzip xz useradd setpriv diff ldconfig start-stop-daemon'.split(
      ' ',
    ),
    ...['file', 'copy', 'store'].map(name => `/usr/lib/apt/methods/${name}`),
  ]
  test.skipIf(lacks('apt-get in a machine', 'apt-get', 'dpkg-deb', 'useradd'))(
    'apt-get installs a package whose files and script have users of their own',
    async () => {
      const tree = join(folder, 'tree')
      mkdirSync(tree)
      await layTestTree(tree, APT)
      for (const name of [
        'lib/apt/lists/partial',
        'cache/apt/archives/partial',
        'log/apt',
        'lib/dpkg/info',
      ]) {
        mkdirSync(join(tree, 'var', name), { recursive: true })
      }
      for (const name of ['updates', 'triggers']) mkdirSync(join(tree, 'var/lib/dpkg', name))
      cpSync('/usr/share/dpkg', join(tree, 'usr/share/dpkg'), { recursive: true })
      for (const name of ['apt.conf.d', 'sources.list.d', 'preferences.d']) {
        mkdirSync(join(tree, 'etc/apt', name), { recursive: true })
      }
      writeFileSync(join(tree, 'etc/apt/sources.list'), '')
      writeFileSync(join(tree, 'var/lib/dpkg/status'), '')
      const users = [
        'root:x:0:0:root:/root:/bin/sh',
        'www-data:x:33:33::/:/bin/sh',
        '_apt:x:100:65534::/:/bin/false',
      ]
      writeFileSync(join(tree, 'etc/passwd'), `${users.join('\n')}\n`)
      writeFileSync(join(tree, 'etc/group'), 'root:x:0:\nwww-data:x:33:\nnogroup:x:65534:\n')
      await expectInstalls('apt', tree)
    },
    MAKE_TIMEOUT_MS,
  )

  test.skipIf(triesOf('bootstraps') === 0 || lacks('a tree of debootstrap', 'debootstrap'))(
    'apt-get and su work in a tree of debootstrap',
    async context => {
      const tree = join(folder, 'debian')
      const made = await run('debootstrap', ['--variant=minbase', 'bookworm', tree]).catch(() => null)
      if (made === null) return context.skip('there is no mirror of Debian here')
      await expectInstalls('debian', tree)
      expect(
        await inside('debian', 'su svc -s /bin/sh -c "id -un"; adduser --version >/dev/null; echo $?'),
      ).toBe('svc\n0\n')
    },
    MAKE_TIMEOUT_MS,
  )
})
