import { ComputeError } from '../port/compute-error.ts'

/** Docker's own, which makes containers of the host's kernel. */
const USUAL = 'runc'

/** What an engine tells of its runtimes. */
export interface RuntimesTold {
  /** By name; of each the program, or the kind of one. */
  Runtimes?: Record<string, { path?: string; runtimeType?: string }>
  DefaultRuntime?: string
}

/**
 * Refuses an engine that does not know the runtime which its machines are to have: another one in its place would have
 * other walls.
 * @throws ComputeError `unsupported` that says what it knows, and where to name it.
 */
export function mustKnowRuntime({ Runtimes = {} }: RuntimesTold, runtime: string | undefined): void {
  if (runtime === undefined || Object.hasOwn(Runtimes, runtime)) return
  const known = Object.keys(Runtimes).sort().join(', ') || 'none'
  throw new ComputeError(
    'unsupported',
    `Docker knows no runtime “${runtime}”, which the catalogue names for it; it knows ${known}. ` +
      'Name it under "runtimes" in the daemon’s daemon.json and let the daemon read it again',
  )
}

/** What a container of our own needs that works on its host: the usual one, where the daemon chooses another by itself. */
export function hostRuntime({ Runtimes = {}, DefaultRuntime = USUAL }: RuntimesTold): string | undefined {
  return DefaultRuntime !== USUAL && Object.hasOwn(Runtimes, USUAL) ? USUAL : undefined
}

const CONTAINER = 'A Docker container: its own processes, files and network, with few rights. '
/** What ran on when an operator named another runtime. */
const LATER = ' A machine that ran when its engine was given that runtime takes it at its next start.'

/** What a runtime is, by its program or its kind: names of runtimes are their operator's own. */
const OWN_KERNELS = [
  {
    is: /(^|[/.])runsc(\.|$)/,
    says: 'gVisor answers its calls, a kernel of its own in a process: it does not speak to the kernel of Docker’s host itself.',
  },
  {
    is: /(^|[/.-])kata(-|\.|$)/,
    says: 'It is in a small virtual machine (Kata), with a kernel of its own.',
  },
]

/** How strong the walls of an engine's machines are, in a sentence for operators and customers. */
export function isolationBy(told: RuntimesTold, runtime: string | undefined): string {
  const kernel =
    ownKernel(told, runtime)?.says ?? 'It shares the kernel of Docker’s host with the other machines.'
  if (runtime === undefined) return `${CONTAINER}${kernel}`
  return `${CONTAINER}It is run by “${runtime}”. ${kernel}${LATER}`
}

/** What the walls of an engine's machines are. */
export function wallsBy(told: RuntimesTold, runtime: string | undefined): 'own_kernel' | 'container' {
  return ownKernel(told, runtime) ? 'own_kernel' : 'container'
}

function ownKernel({ Runtimes = {}, DefaultRuntime }: RuntimesTold, runtime: string | undefined) {
  const { path = '', runtimeType = '' } = Runtimes[runtime ?? DefaultRuntime ?? ''] ?? {}
  return OWN_KERNELS.find(({ is }) => is.test(runtimeType) || is.test(path))
}
