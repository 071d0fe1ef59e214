import { enterScript } from './enter-script.ts'
import type { LaunchPlan } from './launch-plan.ts'
import type { ViewStep } from './root-view.ts'

/** Rights that the enter script needs and then gives up: for low ports, against more user namespaces, to drop rights, to enter a root. */
const RIGHTS_TO_ENTER = ['CAP_NET_ADMIN', 'CAP_SYS_RESOURCE', 'CAP_SETPCAP', 'CAP_SYS_CHROOT']
/** The same, to become another user. */
const RIGHTS_TO_BECOME = ['CAP_SETUID', 'CAP_SETGID', 'CAP_SYS_ADMIN']

/** The exact arguments by which bubblewrap makes the machine. `sized` says that it knows `--size`. */
export function bwrapArgv(plan: LaunchPlan, options: { sized: boolean }): string[] {
  const asRoot = plan.enter.uid !== null
  const { image } = plan.enter
  const inside = image?.user ?? { uid: 0, gid: 0 }
  const enter = image ? { ...plan.enter, image: { ...image, mapped: !asRoot } } : plan.enter
  const rights = asRoot ? [...RIGHTS_TO_ENTER, ...RIGHTS_TO_BECOME] : RIGHTS_TO_ENTER
  return [
    'bwrap',
    '--unshare-ipc',
    '--unshare-pid',
    ...(plan.network === 'own' ? ['--unshare-net'] : []),
    '--unshare-uts',
    '--unshare-cgroup-try',
    ...(asRoot ? [] : ['--unshare-user', '--uid', String(inside.uid), '--gid', String(inside.gid)]),
    '--hostname',
    plan.hostname,
    '--as-pid-1',
    ...rights.flatMap(right => ['--cap-add', right]),
    ...plan.steps.flatMap(step => stepArgs(step, options.sized)),
    ...plan.read_only.flatMap(at => ['--remount-ro', at]),
    ...(plan.info_fd === null ? [] : ['--info-fd', String(plan.info_fd)]),
    '--chdir',
    '/',
    '--',
    '/bin/sh',
    '-c',
    enterScript(enter),
    'berth',
    ...plan.command,
  ]
}

function stepArgs(step: ViewStep, sized: boolean): string[] {
  switch (step.do) {
    case 'bind':
      return [step.device ? '--dev-bind' : step.writable ? '--bind' : '--ro-bind', step.from, step.at]
    case 'tmpfs': {
      const size = sized ? ['--size', String(step.sizeMb * 1024 * 1024)] : []
      return ['--perms', step.mode, ...size, '--tmpfs', step.at]
    }
    case 'symlink':
      return ['--symlink', step.target, step.at]
    case 'dir':
      // bubblewrap's own default keeps everybody but the owner out.
      return ['--perms', '0755', '--dir', step.at]
    case 'proc':
      return ['--proc', step.at]
    case 'dev':
      return ['--dev', step.at]
  }
}
