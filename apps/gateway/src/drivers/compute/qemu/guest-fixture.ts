import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findHypervisor } from './probe-qemu.ts'

const run = promisify(execFile)

const KERNEL_PACKAGE = 'linux-image-cloud-amd64'
/** Of a processor of the kind that the kernel above is for. */
const LIBRARIES = 'usr/lib/x86_64-linux-gnu'
const FETCH_TIMEOUT_MS = 60_000
const BUSYBOX = '/usr/bin/busybox'
const AGENT_PACKAGE = 'qemu-guest-agent'
const AGENT = 'usr/sbin/qemu-ga'
/** A server of SSH with its files by SFTP, and what it is linked to that not every computer has. */
const SSH_PACKAGES = ['openssh-server', 'openssh-sftp-server', 'libwrap0', 'libnsl2', 'libtirpc3']
const SSH_SERVER = 'usr/sbin/sshd'
const SFTP_SERVER = 'usr/lib/openssh/sftp-server'
/** What makes file systems, which this computer has as the tests of sandboxes need it. */
const MKFS = '/usr/sbin/mkfs.ext4'
/** In what servers of tests are written, which every Debian has. */
const PERL = '/usr/bin/perl'
const DISK_BYTES = 16 * 1024 * 1024

/** What a guest needs to find its disks, its network, who speaks with it and its power button. */
const DRIVERS = ['virtio_pci', 'virtio_blk', 'virtio_net', 'virtio_console', 'isofs', 'button', 'evdev']

/**
 * A system small enough for tests: finds out who it is as cloud-init would, runs what it is told, has a shell on its
 * serial line and its agent, and shuts down when that is asked to or its power button is pressed, unless it is named `deaf`.
 * @param ssh Whether it has a server of SSH, which is told its key and whom it lets in, as cloud-init would tell it.
 */
const initScript = (modules: string[], ssh: boolean) => `#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
for module in ${modules.join(' ')}; do insmod /modules/$module.ko; done
ip link set lo up; ip addr add 10.0.2.15/24 dev eth0; ip link set eth0 up; ip route add default via 10.0.2.2
for disk in /dev/vd[b-z]; do mount -t iso9660 -o ro $disk /seed 2>/dev/null && break; done
hostname "$(sed 's/.*"local-hostname":"\\([^"]*\\)".*/\\1/' /seed/meta-data)"
export HOME=/root PATH=/bin
ln -s /usr/bin/perl /bin/perl
mkdir /etc; echo 'PRETTY_NAME="Small Guest 1"' > /etc/os-release
mount -t ext4 /dev/vda /disk
[ "$(hostname)" = deaf ] && sed -i 's/; poweroff.*//' /sbin/shutdown
for port in /sys/class/virtio-ports/*; do
  grep -q guest_agent $port/name && { /${AGENT} -t /run -m virtio-serial -p /dev/\${port##*/} & }
done
[ "$(hostname)" = deaf ] || for event in /dev/input/event*; do
  (head -c 1 "$event" > /dev/null; echo berth-guest: power button > /dev/ttyS0; poweroff -f) &
done
[ "$(hostname)" = deaf ] && printf '#!/bin/sh\\necho status: error; echo "no such module: users"; exit 1' > /bin/cloud-init && chmod +x /bin/cloud-init
${ssh ? SSH_SCRIPT : ''}sed 1d /seed/user-data > /boot-script; sh /boot-script
echo berth-guest: up > /dev/ttyS0
while :; do setsid cttyhack sh -c 'exec sh -i < /dev/ttyS0 > /dev/ttyS0 2>&1'; done
`

const SSH_SCRIPT = `
mkdir -p /etc/ssh /etc/profile.d /root/.ssh /run/sshd /dev/pts; mount -t devpts devpts /dev/pts; chmod 700 /root /root/.ssh
printf 'root:x:0:0::/root:/bin/sh\\nsshd:x:100:100::/run/sshd:/bin/false\\n' > /etc/passwd
printf 'root:x:0:\\n' > /etc/group
echo 127.0.0.1 localhost > /etc/hosts
printf 'Port 22\\nUsePAM no\\nPasswordAuthentication no\\nAcceptEnv LC_*\\nSubsystem sftp /${SFTP_SERVER}\\n' > /etc/ssh/sshd_config
umask 077
printf "$(sed -n 's/.*"ed25519_private":"\\([^"]*\\)".*/\\1/p' /seed/vendor-data)" > /etc/ssh/ssh_host_ed25519_key
sed -n 's/.*"public-keys":\\["\\(.*\\)"\\].*/\\1/p' /seed/meta-data | sed 's/","/\\n/g' > /root/.ssh/authorized_keys
umask 022
/${SSH_SERVER}
`

/** What the agent runs when it is to shut the guest down. */
const SHUTDOWN = `#!/bin/sh
echo berth-guest: asked to shut down > /dev/ttyS0; poweroff -f
`

/**
 * A disk whose first sector is all that runs: it says back on the serial line what it hears there, and hears no power
 * button. `again: in al, 0x3fd; test al, 1; jz wait; in al, 0x3f8; out 0x3f8, al; jmp again; wait: hlt; jmp again`.
 */
export function echoDisk(): Buffer {
  const sector = Buffer.alloc(512)
  Buffer.from('fbbafd03eca8017407baf803eceeebf1f4ebee', 'hex').copy(sector)
  sector.writeUInt16BE(0x55aa, 510)
  return sector
}

/**
 * The same, but it also shuts down when its power button is pressed. First it lets the button be seen:
 * `sti; mov dx, 0x602; mov ax, 0x100; out dx, ax`; then at each turn `in ax, 0x600; test ah, 1; jnz off`, where `off` is
 * `mov dx, 0x604; mov ax, 0x2000; out dx, ax`. The ports are those at which the firmware of a Q35 puts power management.
 */
export function obedientDisk(): Buffer {
  const sector = echoDisk().fill(0, 0, 510)
  const buttonOn = 'fbba0206b80001ef'
  const look = 'ba0006edf6c4017512'
  const echo = 'bafd03eca8017407baf803eceeebe8f4ebe5'
  const off = 'ba0406b80020efebf7'
  Buffer.from(buttonOn + look + echo + off, 'hex').copy(sector)
  return sector
}

/** The parts of images that tests make machines from. */
export interface Guest {
  kernel: string
  initrd: string
  /** A disk with an empty file system on it. */
  disk: string
  cmdline: string
}

/** What tests say where there is nothing to boot: as probes do. */
export type FoundGuest = { ok: true; guest: Guest } | { ok: false; why: string; how_to_get_it: string }

/**
 * Makes a guest in a folder: Debian's kernel for clouds, as the package manager gives it, with busybox around it. The
 * kernel is kept for the next time.
 * @param options.ssh It has OpenSSH's server, too.
 */
export async function makeGuest(folder: string, { ssh = false } = {}): Promise<FoundGuest> {
  const hypervisor = await findHypervisor()
  if (!hypervisor.ok) return hypervisor
  if (!existsSync(BUSYBOX)) {
    return { ok: false, why: 'there is no busybox', how_to_get_it: 'apt install busybox-static' }
  }
  const trees = await debianTrees().catch((error: Error) => error)
  if (trees instanceof Error) {
    const why = `Debian’s kernel for clouds and its agent cannot be had: ${trees.message.slice(0, 200)}`
    return { ok: false, why, how_to_get_it: `let apt reach its mirror, or keep ${KERNEL_PACKAGE} unpacked` }
  }
  const [tree, agent] = trees
  const server = ssh ? await sshFiles().catch((error: Error) => error) : new Map<string, Buffer>()
  if (server instanceof Error) {
    const why = `OpenSSH’s server cannot be had: ${server.message.slice(0, 200)}`
    return { ok: false, why, how_to_get_it: `let apt reach its mirror, or keep ${SSH_PACKAGES} unpacked` }
  }
  await mkdir(folder, { recursive: true })
  const guest: Guest = {
    kernel: join(folder, 'vmlinuz'),
    initrd: join(folder, 'initrd'),
    disk: join(folder, 'disk.raw'),
    cmdline: 'console=ttyS0 quiet panic=-1',
  }
  await copyFile(await onlyMatch(join(tree, 'boot'), /^vmlinuz-/), guest.kernel)
  await writeFile(guest.initrd, await initrd(tree, agent, server))
  await writeFile(guest.disk, '')
  await truncate(guest.disk, DISK_BYTES)
  await run('sh', ['-c', 'PATH=$PATH:/usr/sbin:/sbin exec mkfs.ext4 -q "$0"', guest.disk])
  return { ok: true, guest }
}

/** Where the packages of the kernel and of the agent lie unpacked. */
async function debianTrees(): Promise<[kernel: string, agent: string]> {
  const { stdout } = await run('apt-cache', ['depends', KERNEL_PACKAGE])
  const name = /Depends: (\S+)/.exec(stdout)?.[1]
  if (!name) throw new Error(`apt knows no ${KERNEL_PACKAGE}`)
  return Promise.all([packageTree(name), packageTree(AGENT_PACKAGE)])
}

/** Where a package lies unpacked, which is kept for the next time. */
async function packageTree(name: string): Promise<string> {
  const tree = join(tmpdir(), `berth-test-${name}`)
  if (existsSync(tree)) return tree
  const made = `${tree}.${process.pid}`
  await mkdir(made)
  try {
    await run('apt-get', ['download', '-q', name], { cwd: made, timeout: FETCH_TIMEOUT_MS })
    const archive = await onlyMatch(made, /\.deb$/)
    await run('dpkg-deb', ['-x', archive, made])
    await rm(archive)
    await rename(made, tree)
  } finally {
    await rm(made, { recursive: true, force: true })
  }
  return tree
}

/** A program with what it is linked to, which this computer has as QEMU needs it too, by where they lie. */
async function linkedFiles(program: string, trees: string[] = []): Promise<Map<string, Buffer>> {
  const folders = trees.map(tree => join(tree, LIBRARIES)).join(':')
  const { stdout } = await run('ldd', [program], { env: { ...process.env, LD_LIBRARY_PATH: folders } })
  const lacking = /(\S+) => not found/.exec(stdout)?.[1]
  if (lacking) throw new Error(`there is no ${lacking}`)
  const paths = stdout.split('\n').flatMap(line => /(?:=> |^\s+)(\/\S+) \(/.exec(line)?.[1] ?? [])
  const placeOf = (path: string) =>
    path.slice((trees.find(tree => path.startsWith(`${tree}/`)) ?? '').length + 1)
  return new Map(await Promise.all(paths.map(async path => [placeOf(path), await readFile(path)] as const)))
}

/** OpenSSH's server and Perl with all that they need, by where that lies. */
async function sshFiles(): Promise<Map<string, Buffer>> {
  const trees = await Promise.all(SSH_PACKAGES.map(packageTree))
  const files = new Map<string, Buffer>()
  files.set(PERL.slice(1), await readFile(PERL))
  for (const [name, content] of await linkedFiles(PERL)) files.set(name, content)
  for (const program of [SSH_SERVER, SFTP_SERVER]) {
    const path = trees.map(tree => join(tree, program)).find(existsSync) ?? ''
    files.set(program, await readFile(path))
    for (const [name, content] of await linkedFiles(path, trees)) files.set(name, content)
  }
  return files
}

async function onlyMatch(folder: string, pattern: RegExp): Promise<string> {
  const name = (await readdir(folder)).find(one => pattern.test(one))
  if (!name) throw new Error(`nothing in ${folder} is ${pattern}`)
  return join(folder, name)
}

async function initrd(tree: string, agentTree: string, ssh: Map<string, Buffer>): Promise<Buffer> {
  const modules = join(tree, 'lib/modules')
  const found = await readdir(modules, { recursive: true })
  const parts: Buffer[] = []
  let inode = 1
  const add = (name: string, mode: number, content: Buffer = Buffer.alloc(0)) =>
    parts.push(cpioEntry({ name, mode, content, inode: inode++ }))
  const agent = join(agentTree, AGENT)
  const files = new Map([
    ...(await linkedFiles(agent)),
    ...(await linkedFiles(MKFS)),
    [AGENT, await readFile(agent)],
    [MKFS.slice(1), await readFile(MKFS)],
    ...ssh,
  ])
  const folders = ['bin', 'dev', 'disk', 'modules', 'proc', 'root', 'run', 'sbin', 'seed', 'sys', 'tmp']
  for (const name of new Set([...folders, ...[...files.keys()].flatMap(foldersOf)])) add(name, 0o40755)
  const loaded = new Map<string, Buffer>()
  for (const name of DRIVERS) await loadModule(modules, found, name, loaded)
  add('init', 0o100755, Buffer.from(initScript([...loaded.keys()], ssh.size > 0)))
  add('bin/busybox', 0o100755, await readFile(BUSYBOX))
  add('sbin/shutdown', 0o100755, Buffer.from(SHUTDOWN))
  for (const [name, content] of files) add(name, 0o100755, content)
  for (const [name, content] of loaded) add(`modules/${name}.ko`, 0o100644, content)
  add('TRAILER!!!', 0)
  return Buffer.concat(parts)
}

/** The folders in which a file lies, from the outermost. */
function foldersOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1)
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'))
}

/** Reads a module of the kernel, behind those that it depends on. */
async function loadModule(
  folder: string,
  files: string[],
  name: string,
  loaded: Map<string, Buffer>,
): Promise<void> {
  const path = files.find(one => one.replaceAll('-', '_').endsWith(`/${name}.ko`))
  if (!path) throw new Error(`the kernel has no module ${name}`)
  const content = await readFile(join(folder, path))
  const depends = /\0depends=([^\0]*)\0/.exec(content.toString('latin1'))?.[1] ?? ''
  for (const other of depends.split(',')) {
    if (other !== '' && !loaded.has(other))
      await loadModule(folder, files, other.replaceAll('-', '_'), loaded)
  }
  loaded.set(name, content)
}

/** One file of an archive of cpio, in the way that kernels read (newc). */
function cpioEntry(file: { name: string; mode: number; content: Buffer; inode: number }): Buffer {
  const { name, mode, content, inode } = file
  const numbers = [inode, mode, 0, 0, 1, 0, content.length, 0, 0, 0, 0, name.length + 1, 0]
  const head = `070701${numbers.map(number => number.toString(16).padStart(8, '0')).join('')}${name}\0`
  const padded = (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)])
  return Buffer.concat([padded(Buffer.from(head)), padded(content)])
}
