import { existsSync, lstatSync, readlinkSync } from 'node:fs'
import { chmod, chown, copyFile, mkdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { VolumeMount } from '../port/volumes.ts'
import type { AgentMachine } from './agent/requests.ts'
import type { MachinePaths } from './machine-store.ts'
import { INNER_NAME_SERVERS } from './network-rules.ts'

/** One step of making what a machine sees, in order. Each launcher carries these out in its own way. */
export type ViewStep =
  | { do: 'bind'; from: string; at: string; writable?: true; kind: 'dir' | 'file'; device?: true }
  | { do: 'tmpfs'; at: string; mode: string; sizeMb: number }
  | { do: 'symlink'; at: string; target: string }
  | { do: 'dir'; at: string }
  | { do: 'proc'; at: string }
  | { do: 'dev'; at: string }

/** Files that the agent needs, bound read-only under /.berth. */
export interface AgentFiles {
  node: string
  pty: string
  scripts: string
}

/** A volume, and the folder of this computer that holds it. */
export interface BoundVolume extends VolumeMount {
  from: string
}

/** Folders of the host's own system that hold programs and what they need, and nothing of anybody's. */
const USERLAND = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']

/** What of the host's /etc is worth having, and tells nothing of the host but what it has installed. */
const ETC_FILES = [
  'debian_version',
  'inputrc',
  'ld.so.cache',
  'ld.so.conf',
  'localtime',
  'magic',
  'mime.types',
  'os-release',
  'protocols',
  'services',
  'ssl/openssl.cnf',
  'timezone',
]
const ETC_DIRS = [
  'alternatives',
  'ca-certificates',
  'fonts',
  'ld.so.conf.d',
  'perl',
  'pki',
  'python3',
  'ssl/certs',
  'terminfo',
]

const BASHRC = `case $- in *i*) ;; *) return ;; esac
PS1='\\u@\\h:\\w\\$ '
HISTSIZE=5000
HISTFILESIZE=20000
shopt -s histappend checkwinsize
alias ls='ls --color=auto' ll='ls -alF' grep='grep --color=auto'
`

/** What the agent is told, in the machine's run folder. */
const INSIDE_FILE = 'inside.json'

/** An empty file among them. */
export const NOTHING = 'nothing'

/** Memory that /tmp and the like may take, at most, when the machine has no memory limit to count it in. */
const TMP_SHARE_OF_MEMORY = 0.5
const RUN_MB = 64

/** Makes the machine's /etc: small copies and made-up files, with empty places to bind whole folders on. */
export async function writeEtc(paths: MachinePaths, hostname: string): Promise<void> {
  await mkdir(join(paths.etc, 'ssl'), { recursive: true, mode: 0o755 })
  const {
    '/etc/hostname': hostnameFile = '',
    '/etc/hosts': hosts = '',
    '/etc/resolv.conf': resolv = '',
  } = etcFiles(hostname)
  const made: Record<string, string> = {
    hostname: hostnameFile,
    [NOTHING]: '',
    hosts,
    'resolv.conf': resolv,
    passwd: 'root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n',
    group: 'root:x:0:\ntty:x:5:\nnogroup:x:65534:\n',
    'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n',
    'bash.bashrc': "PS1='\\u@\\h:\\w\\$ '\n",
    profile:
      'PS1=\'\\u@\\h:\\w\\$ \'\nif [ -r "$HOME/.bashrc" ] && [ -n "$BASH" ]; then . "$HOME/.bashrc"; fi\n',
  }
  await Promise.all([
    ...Object.entries(made).map(([name, text]) => writeReadable(join(paths.etc, name), text)),
    ...ETC_FILES.map(name => copyIfThere(join('/etc', name), join(paths.etc, name))),
    ...ETC_DIRS.map(name => mkdir(join(paths.etc, name), { recursive: true, mode: 0o755 })),
  ])
}

/** Files that are each machine's own, whatever it is made from; by their paths. Without a network it asks for names in vain. */
export function etcFiles(hostname: string): Record<string, string> {
  return {
    '/etc/hostname': `${hostname}\n`,
    '/etc/hosts': `127.0.0.1 localhost\n::1 localhost\n127.0.1.1 ${hostname}\n`,
    '/etc/resolv.conf': Object.values(INNER_NAME_SERVERS)
      .map(address => `nameserver ${address}\n`)
      .join(''),
  }
}

/** Gives a new machine's home what an interactive shell is pleasant with. The customer may change all of it. */
export async function seedHome(paths: MachinePaths, uid: number | null): Promise<void> {
  const files: Record<string, string> = {
    '.bashrc': BASHRC,
    '.profile': '[ -n "$BASH" ] && . "$HOME/.bashrc"\n',
  }
  for (const [name, text] of Object.entries(files)) {
    const path = join(paths.home, name)
    await writeReadable(path, text)
    if (uid !== null) await chown(path, uid, uid)
  }
}

/** Tells the agent what machine it is in. */
export async function writeInsideFile(paths: MachinePaths, machine: AgentMachine): Promise<void> {
  await writeReadable(join(paths.run, INSIDE_FILE), JSON.stringify(machine))
}

/** Everything that a machine sees that runs on the computer's own programs, from its root down. */
export function planRootView(options: {
  paths: MachinePaths
  agent: AgentFiles
  memory_mb: number
  /** Device numbers of the real GPUs to pass in. */
  gpu_minors: number[]
  mounts: BoundVolume[]
}): ViewStep[] {
  const { paths, agent } = options
  const tmpMb = tmpMbOf(options.memory_mb)
  return [
    ...hostPrograms(),
    shmStep(options.memory_mb),
    { do: 'tmpfs', at: '/tmp', mode: '1777', sizeMb: tmpMb },
    { do: 'tmpfs', at: '/run', mode: '1777', sizeMb: RUN_MB },
    { do: 'dir', at: '/var' },
    { do: 'symlink', at: '/var/tmp', target: '/tmp' },
    { do: 'symlink', at: '/var/run', target: '/run' },
    { do: 'bind', from: paths.etc, at: '/etc', kind: 'dir' },
    ...ETC_DIRS.flatMap((name): ViewStep[] => {
      const from = join('/etc', name)
      return isDirectory(from) ? [{ do: 'bind', from, at: from, kind: 'dir' }] : []
    }),
    { do: 'bind', from: paths.home, at: '/root', kind: 'dir', writable: true },
    ...options.mounts.flatMap(volumeSteps),
    ...cpuFacts(),
    ...(options.gpu_minors.length > 0 ? gpuSteps(options.gpu_minors) : []),
    { do: 'dir', at: '/.berth' },
    { do: 'bind', from: agent.node, at: '/.berth/node', kind: 'file' },
    ...agentSteps(paths, agent),
  ]
}

/** The computer's own programs, with what they take for granted. */
export function hostPrograms(): ViewStep[] {
  return [...USERLAND.flatMap(userlandStep), { do: 'proc', at: '/proc' }, { do: 'dev', at: '/dev' }]
}

/** What lays the agent's own files into a machine, beside the Node that runs it. */
export function agentSteps(paths: MachinePaths, agent: AgentFiles): ViewStep[] {
  return [
    { do: 'bind', from: agent.pty, at: '/.berth/pty.node', kind: 'file' },
    { do: 'bind', from: agent.scripts, at: '/.berth/agent', kind: 'dir' },
    { do: 'bind', from: join(paths.run, INSIDE_FILE), at: '/.berth/machine.json', kind: 'file' },
  ]
}

/** Memory that programs share by name. */
export function shmStep(memoryMb: number): ViewStep {
  return { do: 'tmpfs', at: '/dev/shm', mode: '1777', sizeMb: tmpMbOf(memoryMb) }
}

function tmpMbOf(memoryMb: number): number {
  return Math.max(64, Math.floor(memoryMb * TMP_SHARE_OF_MEMORY))
}

/** A volume, bound where the machine's own root is still empty: nothing that a customer made is on the way. */
function volumeSteps({ from, path, read_only }: BoundVolume): ViewStep[] {
  const bind: ViewStep = { do: 'bind', from, at: path, kind: 'dir' }
  return [...parentDirs(path), read_only ? bind : { ...bind, writable: true }]
}

function userlandStep(path: string): ViewStep[] {
  if (!existsSync(path)) return []
  if (lstatSync(path).isSymbolicLink()) return [{ do: 'symlink', at: path, target: readlinkSync(path) }]
  return [{ do: 'bind', from: path, at: path, kind: 'dir' }]
}

/** Lets `lscpu` and the like see the processors; the rest of /sys stays out. */
export function cpuFacts(): ViewStep[] {
  const path = '/sys/devices/system/cpu'
  if (!existsSync(path)) return []
  return [...parentDirs(path), { do: 'bind', from: path, at: path, kind: 'dir' }]
}

/**
 * The device nodes of the chosen NVIDIA cards, those that all cards share, and the parts of /sys by which the
 * vendor's library finds them. No computer with such a card was at hand when this was written, so it has not
 * been seen to work.
 */
export function gpuSteps(minors: number[]): ViewStep[] {
  const nodes = ['nvidiactl', 'nvidia-uvm', 'nvidia-uvm-tools', 'nvidia-modeset']
  for (const minor of minors) nodes.push(`nvidia${minor}`)
  const devices = nodes
    .map(name => `/dev/${name}`)
    .filter(existsSync)
    .map(
      (path): ViewStep => ({ do: 'bind', from: path, at: path, kind: 'file', writable: true, device: true }),
    )
  const sys = ['/sys/bus/pci', '/sys/devices/pci0000:00', '/sys/module/nvidia']
    .filter(isDirectory)
    .flatMap((path): ViewStep[] => [...parentDirs(path), { do: 'bind', from: path, at: path, kind: 'dir' }])
  return [...devices, ...sys]
}

/** Steps that make the folders above a path, open for everyone to pass. */
function parentDirs(path: string): ViewStep[] {
  const names = path.split('/').slice(1, -1)
  return names.map((_, at) => ({ do: 'dir', at: `/${names.slice(0, at + 1).join('/')}` }))
}

function isDirectory(path: string): boolean {
  try {
    return lstatSync(path).isDirectory()
  } catch {
    return false
  }
}

async function writeReadable(path: string, text: string): Promise<void> {
  await writeFile(path, text)
  await chmod(path, 0o644)
}

async function copyIfThere(from: string, to: string): Promise<void> {
  try {
    if ((await stat(from)).isFile()) await copyFile(from, to)
  } catch {
    // Absent here, or not for everyone to read: then the machine does without.
  }
}
