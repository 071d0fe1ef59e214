import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { DISK_RATE_BYTES_PER_S } from '../disk-rate.ts'
import type { FoundDisk, Limiter } from './limiter.ts'

const TRIAL_TIMEOUT_MS = 3_000

/**
 * Limits for an ordinary user by asking the user's own systemd for a scope a machine. systemd removes a scope
 * by itself when its last process is gone. Returns null where systemd does not answer.
 */
export async function createScopeLimiter(installation: string, disk: FoundDisk): Promise<Limiter | null> {
  const prefix = ['systemd-run', '--user', '--scope', '--quiet', '--collect']
  // Where systemd puts the sockets of each user's session.
  const uid = process.getuid?.() ?? 0
  const session = `/run/user/${uid}`
  const env = { XDG_RUNTIME_DIR: session, DBUS_SESSION_BUS_ADDRESS: `unix:path=${session}/bus` }
  try {
    const [file = '', ...args] = [...prefix, '-p', 'MemoryMax=64M', '-p', 'CPUQuota=100%', '--', 'true']
    await promisify(execFile)(file, args, {
      timeout: TRIAL_TIMEOUT_MS,
      env: { ...env, PATH: '/usr/bin:/bin' },
    })
  } catch {
    return null
  }
  // systemd leaves out what it may not set: the kernel hands the `io` controller down to few users.
  const controllers = await readFile(
    `/sys/fs/cgroup/user.slice/user-${uid}.slice/user@${uid}.service/cgroup.controllers`,
    'utf8',
  ).catch(() => '')
  const limitsDisk = 'node' in disk && controllers.split(/\s/).includes('io')
  const how = { enforced: true as const, how: 'a systemd scope of the user that runs the gateway' }
  let starts = 0
  return {
    cpu: how,
    memory: how,
    processes: how,
    diskRate: limitsDisk
      ? how
      : {
          enforced: false,
          why: 'why' in disk ? disk.why : 'the io controller is not handed down to this user',
        },
    prepare: async (name, limits) => ({
      env,
      join_files: [],
      argv_prefix: [
        ...prefix,
        // A name is free again only when systemd has cleaned up, so each start takes a new one.
        `--unit=berth-${installation}-${name}-${process.pid}-${starts++}`,
        '-p',
        `MemoryMax=${limits.memory_mb}M`,
        '-p',
        'MemorySwapMax=0',
        '-p',
        `CPUQuota=${Math.round(limits.cpu_count * 100)}%`,
        '-p',
        `TasksMax=${limits.processesMax}`,
        ...(limitsDisk
          ? ['Read', 'Write'].flatMap(way => [
              '-p',
              `IO${way}BandwidthMax=${disk.node} ${DISK_RATE_BYTES_PER_S}`,
            ])
          : []),
        '--',
      ],
    }),
    // systemd names them; the agent adds up its own processes instead, see `sumProcesses`.
    groups: () => ({ cpu: null, memory: null }),
    release: async () => undefined,
    close: async () => undefined,
  }
}
