import { join } from 'node:path'
import { type ImageTools, insideTool, toolSteps } from './image-tools.ts'
import type { LaunchPlan } from './launch-plan.ts'
import type { MachineImage, MachinePaths } from './machine-store.ts'
import {
  type AgentFiles,
  agentSteps,
  type BoundVolume,
  cpuFacts,
  gpuSteps,
  hostPrograms,
  NOTHING,
  shmStep,
  type ViewStep,
} from './root-view.ts'

/** Where a machine's root is until it is entered. */
export const IMAGE_ROOT = '/machine'

/** A list of what is loaded into every program: the machine's own would be loaded into ours before it begins. */
const PRELOADED = '/etc/ld.so.preload'

/**
 * What a machine sees whose root came from an image: that root, which it may change as it likes, and over it what no
 * image has. It is entered last of all, from a view of the computer's own programs: whatever needs rights is done by
 * those, and goes by no file of the machine's. Each place that something is put on is a mount of its own, which cannot
 * be renamed from within, and `linkCheck` refuses a start where a link leads such a place elsewhere.
 */
export function planImageView(options: {
  paths: MachinePaths
  agent: AgentFiles
  tools: ImageTools
  memory_mb: number
  gpu_minors: number[]
  mounts: BoundVolume[]
}): Pick<LaunchPlan, 'steps' | 'read_only'> {
  const { paths, agent, tools, gpu_minors, mounts } = options
  const inside: ViewStep[] = [
    { do: 'proc', at: '/proc' },
    { do: 'dev', at: '/dev' },
    shmStep(options.memory_mb),
    { do: 'tmpfs', at: '/sys', mode: '0755', sizeMb: 1 },
    ...cpuFacts(),
    ...(gpu_minors.length > 0 ? gpuSteps(gpu_minors) : []),
    ...mounts.map(({ from, path, read_only }): ViewStep => {
      return { do: 'bind', from, at: path, kind: 'dir', ...(read_only ? {} : { writable: true }) }
    }),
    { do: 'bind', from: join(paths.etc, NOTHING), at: PRELOADED, kind: 'file' },
    { do: 'tmpfs', at: '/.berth', mode: '0755', sizeMb: 1 },
    ...toolSteps(tools),
    ...agentSteps(paths, agent),
  ]
  const steps: ViewStep[] = [
    ...hostPrograms(),
    { do: 'bind', from: paths.etc, at: '/etc', kind: 'dir' },
    { do: 'dir', at: '/.berth' },
    { do: 'bind', from: agent.scripts, at: '/.berth/agent', kind: 'dir' },
    { do: 'bind', from: paths.home, at: IMAGE_ROOT, kind: 'dir', writable: true },
    ...inside.map(step => ({ ...step, at: `${IMAGE_ROOT}${step.at}` })),
  ]
  return { steps, read_only: [`${IMAGE_ROOT}/sys`, `${IMAGE_ROOT}/.berth`, '/'] }
}

/** The agent's command in a root that has neither Node nor its libraries. */
export function imageAgentCommand(tools: ImageTools, command: string[]): string[] {
  return [...insideTool(tools, 'node'), ...command.slice(1)]
}

/**
 * Ends a start where a link stands in the way of a mount (`$1` is the root): who made it would decide what is mounted
 * over, and mounts are made with rights that the machine does not have. A folder that is not there is made as the
 * machine's own, so that its user can remove it again.
 */
const CHECK_SCRIPT = `
root=$1; shift
while [ "$1" != -- ]; do
  if [ -h "$root$1" ]; then echo "a link is where a volume or the system has its place: $1" >&2; exit 1; fi
  [ -e "$root$1" ] || [ "$1" = ${PRELOADED} ] ||
    { mkdir -m 755 "$root$1" && chown --reference="$root" "$root$1"; } || exit 1
  shift
done
shift
exec "$@"
`

/** What goes before a launcher's own arguments so that no link of the machine's leads a mount elsewhere. */
export function linkCheck(paths: MachinePaths, mounts: BoundVolume[]): string[] {
  const mounted = ['/proc', '/dev', '/sys', '/.berth', PRELOADED, ...mounts.map(({ path }) => path)]
  const places = new Set(mounted.flatMap(pathsTo))
  return ['/bin/sh', '-c', CHECK_SCRIPT, 'berth', paths.home, ...places, '--']
}

/** A path and those above it. */
function pathsTo(path: string): string[] {
  const parts = path.split('/').slice(1)
  return parts.map((_, at) => `/${parts.slice(0, at + 1).join('/')}`)
}

/** What an image's programs find in their environment where the customer says nothing else. */
export function imageEnvironment(image: MachineImage): Record<string, string> {
  const { name, home } = image.user
  return { HOME: home, USER: name, LOGNAME: name, ...image.env }
}
