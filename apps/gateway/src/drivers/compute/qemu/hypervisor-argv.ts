import { DISK_RATE_BYTES_PER_S } from '../disk-rate.ts'
import type { MachineSpec } from '../port/machines.ts'
import type { VolumeMount } from '../port/volumes.ts'
import {
  GUEST_AGENT_DEVICE,
  GUEST_AGENT_PORT,
  HYPERVISOR_FDS,
  NETWORK,
  REPORT_PORT,
} from './keeper/keeper-orders.ts'
import type { Hypervisor } from './probe-qemu.ts'

/** Where a machine's files are within its walls. */
export const INSIDE = {
  folder: '/vm',
  base: '/vm/base',
  seed: '/vm/seed',
  kernel: '/vm/kernel',
  initrd: '/vm/initrd',
  disk: '/root/disk.qcow2',
  volume: (at: number) => `/vm/volume-${at}`,
} as const

/** Memory for what QEMU translates, where it runs guests in software; it would take up to a gigabyte. */
const TRANSLATED_MB = 128

/** All that QEMU is started with. It has no window, no defaults, no files of settings, and stands still at first. */
export function hypervisorArgv(
  { program, acceleration }: Hypervisor,
  spec: Pick<MachineSpec, 'cpu_count' | 'memory_mb'>,
  machine: {
    kernel: boolean
    initrd: boolean
    cmdline: string | null
    /** Where its network leads on to; null for nowhere. */
    network: { ipv6: boolean } | null
    /** Disks that it has for volumes, in their order. */
    volumes: Pick<VolumeMount, 'id' | 'read_only'>[]
  },
): string[] {
  const isFast = acceleration.name === 'kvm'
  return [
    program,
    ...['-nodefaults', '-no-user-config', '-display', 'none', '-S'],
    '-sandbox',
    'on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny',
    ...['-machine', 'q35,usb=off,vmport=off,dump-guest-core=off'],
    ...['-accel', isFast ? 'kvm' : `tcg,tb-size=${TRANSLATED_MB}`],
    ...['-cpu', isFast ? 'host' : 'max'],
    ...['-smp', String(Math.max(1, Math.ceil(spec.cpu_count)))],
    ...['-m', String(Math.floor(spec.memory_mb))],
    ...['-rtc', 'base=utc'],
    ...socketOf('monitor', HYPERVISOR_FDS.monitor),
    ...['-mon', 'chardev=monitor,mode=control'],
    ...socketOf('serial', HYPERVISOR_FDS.serial),
    ...['-device', 'isa-serial,chardev=serial'],
    ...['-device', 'virtio-serial-pci'],
    ...socketOf('guest-agent', HYPERVISOR_FDS.guest_agent),
    '-device',
    `virtserialport,id=${GUEST_AGENT_DEVICE},chardev=guest-agent,name=${GUEST_AGENT_PORT}`,
    ...socketOf('report', HYPERVISOR_FDS.report),
    ...['-device', `virtserialport,chardev=report,name=${REPORT_PORT}`],
    ...diskArgs(machine.volumes),
    ...['-netdev', `user,id=${NETWORK},${networkOptions(machine.network)}`],
    ...['-device', `virtio-net-pci,netdev=${NETWORK},romfile=`],
    ...['-object', 'rng-random,id=random,filename=/dev/urandom', '-device', 'virtio-rng-pci,rng=random'],
    ...(machine.kernel ? ['-kernel', INSIDE.kernel] : []),
    ...(machine.initrd ? ['-initrd', INSIDE.initrd] : []),
    ...(machine.kernel && machine.cmdline !== null ? ['-append', machine.cmdline] : []),
  ]
}

/**
 * Guests' packets end in the hypervisor, which sends on by sockets in the network that it is in. Where that leads nowhere it
 * holds its own loopback and nothing else; QEMU's own `restrict` would drop what guests answer to datagrams.
 */
function networkOptions(network: { ipv6: boolean } | null): string {
  return `ipv4=on,ipv6=${network?.ipv6 ? 'on' : 'off'}`
}

function socketOf(id: string, fd: number): string[] {
  return ['-chardev', `socket,id=${id},fd=${fd}`]
}

/**
 * The machine's disk, those of its volumes, all of them held to one rate, and the one that it is told by who it is. A guest
 * names them by their order, and finds volumes by their names.
 */
function diskArgs(volumes: Pick<VolumeMount, 'id' | 'read_only'>[]): string[] {
  const nodes = [
    { driver: 'file', 'node-name': 'disk-file', filename: INSIDE.disk, discard: 'unmap' },
    { driver: 'qcow2', 'node-name': 'disk-whole', file: 'disk-file', discard: 'unmap' },
    { driver: 'throttle', 'node-name': 'disk', 'throttle-group': 'rate', file: 'disk-whole' },
    ...volumes.flatMap(volumeNodes),
    { driver: 'file', 'node-name': 'seed-file', filename: INSIDE.seed, 'read-only': true },
    { driver: 'raw', 'node-name': 'seed', file: 'seed-file', 'read-only': true },
  ]
  const rate = `x-bps-read=${DISK_RATE_BYTES_PER_S},x-bps-write=${DISK_RATE_BYTES_PER_S}`
  return [
    ...['-object', `throttle-group,id=rate,${rate}`],
    ...nodes.flatMap(node => ['-blockdev', JSON.stringify(node)]),
    ...['-device', 'virtio-blk-pci,drive=disk,bootindex=1'],
    ...volumes.flatMap(({ id }, at) => ['-device', `virtio-blk-pci,drive=volume${at},serial=${id}`]),
    ...['-device', 'virtio-blk-pci,drive=seed'],
  ]
}

function volumeNodes({ read_only }: Pick<VolumeMount, 'read_only'>, at: number) {
  const shared = { discard: 'unmap', 'read-only': read_only }
  const names = [`volume${at}-file`, `volume${at}-whole`, `volume${at}`]
  return [
    { driver: 'file', 'node-name': names[0], filename: INSIDE.volume(at), ...shared },
    { driver: 'raw', 'node-name': names[1], file: names[0], ...shared },
    {
      driver: 'throttle',
      'node-name': names[2],
      'throttle-group': 'rate',
      file: names[1],
      'read-only': read_only,
    },
  ]
}
