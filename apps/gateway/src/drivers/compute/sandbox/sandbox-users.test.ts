import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { release, tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { describeWhere, eventually, never, text } from '../conformance/tools.ts'
import { isInstalled, makeImage, type OddEntry, packOdd, startRegistry } from '../oci/registry-fixture.ts'
import { offered } from '../port/part.ts'
import { processesOf, startGateway } from './gateway-process-fixture.ts'
import { useImageEngine, usePrograms } from './image-engine-fixture.ts'
import { findOwnUsers, RANGES, USERS_EACH } from './machine-users.ts'
import { findRootOverlay } from './overlay-root.ts'
import { probeSandbox } from './probe-sandbox.ts'

const probe = await probeSandbox()
const isRoot = process.getuid?.() === 0
if (!isRoot) process.stdout.write('SKIP users of machines: only root may give them out\n')

/** In CI a computer that has all that it takes is to use it: what falls back is not tested there at all. */
const isExpected = isRoot && process.env.CI === 'true' && process.platform === 'linux'
/** `mount_setattr` below an overlay. */
const KERNEL_MIN = [5, 19] as const
const OVERLAY_MAGIC = 0x794c7630

/** Who runs the gateway of an ordinary user, and the first of the users that it may give out. */
const NOBODY = 65_534
const GIVEN_FIRST = 3_000_000

const folder = mkdtempSync(join(tmpdir(), 'berth-users-'))

/** Files of others, and one whose owner no machine has. */
const ENTRIES: OddEntry[] = [
  { name: 'srv/theirs', uid: 33, gid: 44, mode: 0o640, content: 'theirs' },
  { name: 'srv/link', type: '2', target: 'theirs', uid: 33, gid: 44 },
  { name: 'srv/folder', type: '5', uid: 1000, gid: 1001, mode: 0o2750 },
  { name: 'srv/high', uid: 70_000, gid: 70_000 },
  { name: 'srv/shadow', mode: 0o600, content: 'secret' },
]

/** Perl as another user of the machine, without any group but its own. */
const as = (uid: number, program: string) =>
  `perl -e '$( = $) = "${uid} ${uid}"; $< = $> = ${uid}; $> == ${uid} or die; ${program}'`

describeWhere('users of machines of images', probe, () => {
  const programs = usePrograms(folder)

  describe.skipIf(!isRoot)('where the gateway is root', () => {
    const dataDir = join(folder, 'data')
    const { engine, make, start, reopen } = useImageEngine(programs.packed, { dataDir, homes: 'folders' })
    const inside = (line: string, id = 'one') => text(engine(), id, line)
    const homeOf = (id: string) => join(dataDir, 'machines', id, 'home')
    const owners = (path: string) => `stat -c '%u:%g %a' ${path}`

    test('files have the owners that the image gives them, and whoever is not theirs is kept out', async () => {
      await make('one', ENTRIES)
      await start('one')
      expect(engine().capabilities.own_users).toMatchObject({ enforced: true })
      expect(
        await inside(`id -u; ${owners('/srv/theirs /srv/link /srv/folder /srv/high /srv/shadow')}`),
      ).toBe('0\n33:44 640\n33:44 777\n1000:1001 2750\n65534:65534 644\n0:0 600\n')
      const tries = 'for (@ARGV) { open my $f, "<", $_ or print "$!\\n" }'
      expect(await inside(`${as(1000, tries)} /srv/theirs /srv/shadow`)).toBe(
        'Permission denied\nPermission denied\n',
      )
      expect(await inside(`${as(33, tries)} /srv/theirs`)).toBe('')
    })

    test('a machine changes owners, and its users keep their files over a stop', async () => {
      await inside('touch /srv/mine; chown 5:6 /srv/mine; chown -h 7:8 /srv/link')
      await inside(as(1000, 'open my $f, ">", "/srv/folder/made"; open $f, ">", "/tmp/made"'))
      const seen = `${owners('/srv/mine /srv/link /tmp/made')}; ls /srv/folder`
      const before = await inside(seen)
      expect(before).toBe('5:6 644\n7:8 777\n1000:1000 644\nmade\n')
      await engine().machines.stop('one', never)
      await start('one')
      expect(await inside(seen)).toBe(before)
    })

    test('a stop ends processes of all users', async () => {
      const sleeps = as(1000, '$SIG{TERM} = "IGNORE"; exec "sleep", "4242"')
      await inside(
        `setsid ${sleeps} >/dev/null 2>&1 & while ! grep -qs 4242 /proc/[0-9]*/cmdline; do :; done`,
      )
      await engine().machines.stop('one', never, { at_once: true })
      const left = readdirSync('/proc').filter(pid => /^\d+$/.test(pid) && commandOf(pid).includes('4242'))
      expect(left).toEqual([])
      await start('one')
    })

    test('[B1] no two machines have a user in common, and none is anybody outside', async () => {
      await make('two', ENTRIES)
      const firstOf = (id: string) => statSync(homeOf(id)).uid
      const [one, two] = [firstOf('one'), firstOf('two')]
      expect(new Set([one, two]).size).toBe(2)
      for (const first of [one, two]) {
        expect(first % USERS_EACH).toBe(0)
        expect(first >= RANGES.first && first < RANGES.end).toBe(true)
      }
      expect(statSync(join(homeOf('one'), 'upper/srv/mine'))).toMatchObject({ uid: one + 5, gid: one + 6 })
      // Programs with rights of their own may be made in there; nobody outside comes to them.
      await inside('cp /usr/bin/sh /srv/sh; chmod 6755 /srv/sh; chown 5:5 /srv/sh; chmod 6755 /srv/sh')
      for (const path of [dataDir, join(dataDir, 'machines/one')]) {
        expect(lstatSync(path)).toMatchObject({ uid: 0, mode: 0o40700 })
      }
    })

    test('[B1] root of a machine has rights over its own users and no others', async () => {
      const status = await inside('cat /proc/self/status')
      // chown, dac_override, fowner, fsetid, kill, setgid, setuid.
      expect(status).toMatch(/CapPrm:\s+0+fb\nCapEff:\s+0+fb\nCapBnd:\s+0+fb\nCapAmb:\s+0+\n/)
      expect(status).toMatch(/CapInh:\s+0+\n/)
      expect(status).toMatch(/NoNewPrivs:\s1\nSeccomp:\s2/)
      expect(await inside(as(1000, 'exec "grep", "-E", "Cap(Prm|Eff)", "/proc/self/status"'))).toMatch(
        /^CapPrm:\s+0+\nCapEff:\s+0+\n$/,
      )
      // A program with a user's rights gives them to nobody.
      expect(
        await inside(`chown 0:0 /srv/sh; chmod 4755 /srv/sh; ${as(1000, 'exec "/srv/sh", "-c", "id -u"')}`),
      ).toBe('1000\n')
      const refused = [
        ['chown 65536 /srv/mine', 'Invalid argument'],
        ['chown 1000 /proc/sys/kernel/core_pattern', 'Operation not permitted|Read-only'],
        ['echo x > /proc/sys/kernel/core_pattern', 'Permission denied|Read-only'],
        ['echo 5 > /proc/sys/user/max_user_namespaces', 'Permission denied|Read-only'],
        ['echo 1 > /proc/sys/net/ipv4/ip_forward', 'Permission denied|Read-only'],
        ['echo 0 70000 1 > /proc/self/uid_map', 'not permitted|I/O error'],
        ['mount -t tmpfs none /mnt', 'permission denied|not permitted|superuser'],
        ['cat /proc/1/environ > /dev/null; : > /.berth/agent/x', 'Read-only'],
        // mknod of a disk, keyctl and add_key, unshare of users, setns.
        [`perl -e '$at = "/srv/node"; syscall(133, $at, 060600, 0x800) == 0 or die "$!"'`, 'not permitted'],
        [`perl -e 'syscall(250, 0, -3, 1) >= 0 or die "$!"'`, 'not permitted'],
        [`perl -e 'syscall(272, 0x10000000) == 0 or die "$!"'`, 'not permitted'],
        [
          `perl -e 'open my $n, "<", "/proc/1/ns/user"; syscall(308, fileno $n, 0) == 0 or die "$!"'`,
          'not permitted',
        ],
      ]
      for (const [line = '', answer = ''] of refused) {
        const { exit_code, stderr } = await engine().console.exec('one', ['sh', '-c', line])
        expect({ line, refused: exit_code !== 0 }).toEqual({ line, refused: true })
        expect(stderr).toMatch(new RegExp(answer, 'i'))
      }
    })

    test('a volume’s files have the same owners in the next machine', async () => {
      const { volumes: store } = engine()
      await offered(store).make({ id: 'kept', size_gb: 1 })
      const volumes = [{ id: 'kept', path: '/mnt/kept', read_only: false }]
      for (const id of ['one', 'two']) {
        await engine().machines.stop(id, never)
        const spec = await make(`${id}-next`, ENTRIES, {}, { volumes })
        await start(spec.id)
        const write =
          'mkdir -p /mnt/kept/a/b; touch /mnt/kept/a/b/c; ln -sf /etc /mnt/kept/a/l; chown -h 5:6 /mnt/kept/a/*'
        if (id === 'one') await inside(`${write}; chown 999:998 /mnt/kept/a/b/c /mnt/kept`, spec.id)
        const seen = owners('/mnt/kept /mnt/kept/a /mnt/kept/a/b /mnt/kept/a/b/c /mnt/kept/a/l')
        expect(await inside(seen, spec.id)).toBe('999:998 755\n0:0 755\n5:6 755\n999:998 644\n5:6 777\n')
        await engine().machines.stop(spec.id, never)
      }
      // The first one keeps its users for itself while it is there.
      const ranges = ['one-next', 'two-next'].map(id => statSync(homeOf(id)).uid)
      expect(new Set(ranges).size).toBe(2)
      for (const id of ['one-next', 'two-next']) await engine().machines.remove(id, never)
      await start('one')
    })

    test('what any of its users stored is gone with the machine', async () => {
      await inside(
        as(
          1000,
          'umask 0; mkdir "/tmp/a"; mkdir "/tmp/a/b"; open my $f, ">", "/tmp/a/b/c"; chmod 0, "/tmp/a/b", "/tmp/a"',
        ),
      )
      await eventually(async () => {
        await engine()
          .machines.remove('one', never)
          .catch(() => undefined)
        expect(await engine().observation.status('one')).toEqual({ state: 'absent' })
      })
      expect(readdirSync(join(dataDir, 'machines'))).toEqual(['two'])
    })

    test('machines keep their homes where their computer begins or ends to give users out', async () => {
      const changed = async (id: string) => {
        await inside('echo mine > /srv/mine', id)
        await engine().machines.stop(id, never)
      }
      await start('two')
      await inside('chown 5:6 /srv/theirs', 'two')
      await changed('two')
      await reopen({ users: 'one' })
      expect(engine().capabilities.own_users).toMatchObject({
        enforced: false,
        why: expect.stringContaining('apt-get install, chown, su'),
      })
      await make('single', ENTRIES)
      await start('single')
      expect(await inside(`id -u; ${owners('/srv/theirs')}`, 'single')).toBe('0\n0:0 640\n')
      await changed('single')
      const kept = async () => {
        for (const id of ['two', 'single']) await start(id)
        expect(await inside(`cat /srv/mine; ${owners('/srv/theirs')}`, 'two')).toBe('mine\n5:6 640\n')
        expect(await inside(`cat /srv/mine; ${owners('/srv/theirs')}`, 'single')).toBe('mine\n0:0 640\n')
      }
      await kept()
      await reopen({})
      await kept()
    })
  })

  describe.skipIf(!isRoot)('where the gateway is an ordinary user', () => {
    test.for(['bwrap', 'unshare'])(
      'who has users to give, its machines have them, by %s',
      async (launcher, context) => {
        if (!isInstalled('newuidmap')) return context.skip('newuidmap is not installed')
        const plain = join(folder, `plain-${launcher}`)
        mkdirSync(plain)
        for (const path of [folder, plain]) chmodSync(path, 0o755)
        chownSync(plain, NOBODY, NOBODY)
        const ranges = join(folder, 'ranges')
        writeFileSync(ranges, `${NOBODY}:${GIVEN_FIRST}:${USERS_EACH}\n`)
        const layers = [
          { bytes: programs.packed(), packing: '+zstd' as const },
          { bytes: packOdd(ENTRIES), packing: '' as const },
        ]
        const registry = await startRegistry(makeImage(layers))
        const gateway = startGateway(plain, 'plain', {
          args: ['--users', registry.reference, launcher],
          uid: NOBODY,
          ranges,
        })
        const lines = await gateway.end().finally(registry.close)
        if (lines.length === 0) return context.skip('the project’s folder cannot be read by other users')
        expect(lines).toEqual([
          ...['made', 'pulled', 'created', 'running', 'users true'],
          ...['theirs 0 33:44 640', 'kept 5:6 1000:1000', 'owner', String(GIVEN_FIRST), 'left []'],
        ])
        expect(readdirSync(join(plain, 'machines'))).toEqual([])
        expect(processesOf(plain)).toEqual([])
      },
    )
  })
})

test.skipIf(!isExpected)(
  'where CI could give out users and lay homes over images, it does',
  async context => {
    const [major = 0, minor = 0] = release().split('.').map(Number)
    const isOld = major < KERNEL_MIN[0] || (major === KERNEL_MIN[0] && minor < KERNEL_MIN[1])
    const place = mkdtempSync(join(tmpdir(), 'berth-expected-'))
    try {
      if (isOld || statfsSync(place).type === OVERLAY_MAGIC) {
        process.stdout.write('SKIP homes over images: this kernel or file system cannot\n')
        return context.skip('this kernel or file system cannot')
      }
      expect(await findOwnUsers(place)).toMatchObject({ why: null })
      expect(await findRootOverlay(place)).toMatchObject({ overlay: expect.anything() })
    } finally {
      rmSync(place, { recursive: true })
    }
  },
)

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  } catch {
    return ''
  }
}
