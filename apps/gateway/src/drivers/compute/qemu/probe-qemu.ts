import { type ExecFileException, execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { access, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** How guests run: on the processor itself, or word by word in software, which takes ten times as long or more. */
export type Acceleration = { name: 'kvm' } | { name: 'tcg'; why: string }

export interface Hypervisor {
  program: string
  disk_tool: string
  acceleration: Acceleration
}

export type FoundHypervisor =
  | { ok: true; hypervisor: Hypervisor }
  | { ok: false; why: string; how_to_get_it: string }

const FOLDERS = ['/usr/bin', '/usr/local/bin', '/usr/libexec']
const KVM = '/dev/kvm'
const INSTALL = 'install QEMU (apt install qemu-system-x86 qemu-utils, dnf install qemu-system-x86 qemu-img)'

/** A guest by KVM is through in a tenth of a second; one in software waits for its turn on a busy computer. */
const TRIAL_TIMEOUT_MS = { kvm: 3_000, tcg: 30_000 }
/** `mov al, 0x10; out 0xf4, al; hlt; jmp $-1`, as a disk that can be booted: its first instructions end the hypervisor. */
const TRIAL_GUEST = Buffer.from('b010e6f4f4ebfd', 'hex')
const SECTOR_BYTES = 512
const BOOT_MARK = Buffer.from([0x55, 0xaa])
/** What the hypervisor ends with then: twice the number that was written, and one. */
const TRIAL_CODE = 0x10 * 2 + 1

let found: Promise<FoundHypervisor> | null = null

/** Finds QEMU on this computer, and how guests run in it: a small one is booted to see. Looks once for each process. */
export function findHypervisor(): Promise<FoundHypervisor> {
  found ??= look()
  return found
}

async function look(): Promise<FoundHypervisor> {
  const lack = (why: string, how_to_get_it = INSTALL): FoundHypervisor => ({ ok: false, why, how_to_get_it })
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    return lack('virtual machines run on Linux with an x86-64 processor alone', 'use such a computer')
  }
  const [program, disk_tool] = await Promise.all(['qemu-system-x86_64', 'qemu-img'].map(findProgram))
  if (!program) return lack('qemu-system-x86_64 is not installed')
  if (!disk_tool) return lack('qemu-img is not installed')
  const noKvm = await whyNoKvm(program)
  if (noKvm === null) return { ok: true, hypervisor: { program, disk_tool, acceleration: { name: 'kvm' } } }
  const broken = await tryGuest(program, 'tcg')
  if (broken !== null)
    return lack(`QEMU boots no guest: ${broken}`, 'see what is wrong with its installation')
  return { ok: true, hypervisor: { program, disk_tool, acceleration: { name: 'tcg', why: noKvm } } }
}

async function findProgram(name: string): Promise<string | null> {
  for (const folder of FOLDERS) {
    const path = join(folder, name)
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isThere) return path
  }
  return null
}

/** Why guests cannot run on the processor itself, in a clause; null where they can. */
async function whyNoKvm(program: string): Promise<string | null> {
  const device = await stat(KVM).catch(() => null)
  if (!device) return `this computer has no ${KVM}`
  // Each machine has a user of its own, who is in no group.
  const everybody = 0o006
  const isOpen = process.getuid?.() === 0 ? (device.mode & everybody) === everybody : await isUsable(KVM)
  if (!isOpen) return `${KVM} is closed to the users that machines run as`
  const broken = await tryGuest(program, 'kvm')
  return broken === null ? null : `${KVM} is here, but no guest runs by it (${broken})`
}

async function isUsable(path: string): Promise<boolean> {
  return access(path, constants.R_OK | constants.W_OK).then(
    () => true,
    () => false,
  )
}

/** Boots the smallest guest there is. Returns what went wrong, or null. */
async function tryGuest(program: string, acceleration: 'kvm' | 'tcg'): Promise<string | null> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-trial-'))
  try {
    const disk = join(folder, 'disk')
    const sector = Buffer.alloc(SECTOR_BYTES)
    TRIAL_GUEST.copy(sector)
    BOOT_MARK.copy(sector, SECTOR_BYTES - BOOT_MARK.length)
    await writeFile(disk, sector)
    return await runTrial(
      program,
      [
        ...['-nodefaults', '-no-user-config', '-display', 'none', '-m', '16'],
        ...['-machine', `q35,accel=${acceleration}`],
        ...['-drive', `file=${disk},format=raw,if=floppy,readonly=on`],
        ...['-device', 'isa-debug-exit,iobase=0xf4,iosize=1'],
      ],
      TRIAL_TIMEOUT_MS[acceleration],
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function runTrial(program: string, args: string[], timeoutMs: number): Promise<string | null> {
  return new Promise(resolve => {
    const done = (error: ExecFileException | null, _out: string, said: string) => {
      if (error?.code === TRIAL_CODE) resolve(null)
      else if (error?.killed) resolve(`it does nothing for ${timeoutMs / 1_000} seconds`)
      else resolve((said.trim().split('\n').at(-1) || error?.message || 'it ended by itself').slice(0, 200))
    }
    execFile(program, args, { timeout: timeoutMs, killSignal: 'SIGKILL' }, done)
  })
}
