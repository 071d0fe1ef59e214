import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { bwrapArgv } from './bwrap-launcher.ts'
import type { LaunchPlan } from './launch-plan.ts'
import { unshareArgv } from './unshare-launcher.ts'

export type Probe = { ok: true } | { ok: false; why: string; how_to_get_it: string }

export type LauncherName = 'bwrap' | 'unshare'

/** One way of making namespaces, tried out on this computer. */
export interface Launcher {
  name: LauncherName
  argv(plan: LaunchPlan): string[]
}

const TRIAL_TIMEOUT_MS = 5_000

/** Whether this computer can run sandboxes, and if not, why and what would help. */
export async function probeSandbox(): Promise<Probe> {
  const found = await findLauncher(null)
  return found.launcher ? { ok: true } : { ok: false, why: found.why, how_to_get_it: found.how_to_get_it }
}

/** Finds the launcher that works here: bubblewrap before `unshare`, or just the one that is asked for. */
export async function findLauncher(
  wanted: LauncherName | null,
): Promise<{ launcher: Launcher } | { launcher: null; why: string; how_to_get_it: string }> {
  if (process.platform !== 'linux') {
    return {
      launcher: null,
      why: 'the sandbox needs Linux namespaces, and this is not Linux',
      how_to_get_it: 'start Docker (Docker Desktop, OrbStack or Colima), or run Berth in a Linux VM',
    }
  }
  const failures: string[] = []
  for (const name of wanted ? [wanted] : (['bwrap', 'unshare'] as const)) {
    const launcher = name === 'bwrap' ? await makeBwrap() : { name, argv: unshareArgv }
    const failure = launcher ? await trial(launcher) : 'bwrap: not installed'
    if (launcher && !failure) return { launcher }
    if (failure) failures.push(failure)
  }
  return { launcher: null, why: failures.join('; '), how_to_get_it: advice(failures.join(' ')) }
}

async function makeBwrap(): Promise<Launcher | null> {
  try {
    const { stdout } = await promisify(execFile)('bwrap', ['--help'], { timeout: TRIAL_TIMEOUT_MS })
    const sized = stdout.includes('--size BYTES')
    return { name: 'bwrap', argv: plan => bwrapArgv(plan, { sized }) }
  } catch {
    return null
  }
}

/** Makes the smallest machine there is. Returns what went wrong, or null. */
async function trial(launcher: Launcher): Promise<string | null> {
  const [file = '', ...args] =
    launcher.name === 'bwrap'
      ? ['bwrap', '--unshare-all', '--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev', 'true']
      : ['unshare', ...(isRoot() ? [] : ['--user', '--map-root-user']), ...TRIAL_SPACES, 'true']
  try {
    await promisify(execFile)(file, args, { timeout: TRIAL_TIMEOUT_MS })
    return null
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string }
    return `${launcher.name}: ${(stderr?.trim() || message).slice(0, 200)}`
  }
}

const TRIAL_SPACES = ['--mount', '--uts', '--ipc', '--net', '--pid', '--fork', '--mount-proc']

function isRoot(): boolean {
  return process.getuid?.() === 0
}

function advice(failures: string): string {
  if (/not permitted|denied|No space left|EPERM/i.test(failures)) {
    return (
      'allow user namespaces: sysctl -w user.max_user_namespaces=65536, and on Ubuntu also ' +
      'kernel.apparmor_restrict_unprivileged_userns=0 (or install Docker). In a container, run it privileged'
    )
  }
  return 'install bubblewrap (apt install bubblewrap, dnf install bubblewrap) or Docker'
}
