import type { V1Pod } from '@kubernetes/client-node'
import { REPORT_PATH } from '../main-program.ts'
import { COMMAND_REPORT_BYTES_MAX, readCommandEnd } from '../port/command-end.ts'
import type { CommandEnd } from '../port/machines.ts'
import { runExec } from './kube-exec.ts'
import type { KubeLink } from './kube-link.ts'
import { runsSince } from './pod-status.ts'

const READ_TIMEOUT_MS = 5_000
/** Each look is a process in the machine: whoever looks oftener is told the same. */
const KEPT_MS = 1_000
const KEPT_MAX = 10_000
/** A customer may have laid anything there: of a plain file a few bytes are read, and nothing else is opened. */
const READ_SCRIPT = `f=${REPORT_PATH}; [ -f $f ] && [ ! -L $f ] || exit 0; head -c ${COMMAND_REPORT_BYTES_MAX} $f; echo; stat -c %Y $f 2>/dev/null || date +%s 2>/dev/null`

/** Reads what machines say of the end of their commands. */
export function createReportReader(link: KubeLink) {
  const kept = new Map<string, { atMs: number; end: Promise<CommandEnd | null> }>()

  async function read(pod: V1Pod): Promise<CommandEnd | null> {
    const started_at = runsSince(pod)
    const { name = '', namespace = '' } = pod.metadata ?? {}
    if (started_at === null) return null
    const asked = { timeout_ms: READ_TIMEOUT_MS, output_bytes_max: 2 * COMMAND_REPORT_BYTES_MAX }
    // Whatever keeps it from being read, the machine goes on.
    const told = await runExec(link, { namespace, pod: name }, ['/bin/sh', '-c', READ_SCRIPT], asked).catch(
      () => null,
    )
    const [report = '', ...rest] = told?.stdout.split('\n') ?? []
    const changedS = Number(rest.findLast(line => line !== ''))
    const ended_at = Number.isFinite(changedS) && changedS > 0 ? new Date(changedS * 1_000) : new Date()
    return readCommandEnd(report, { started_at, ended_at, now: new Date() })
  }

  return {
    readReport(pod: V1Pod): Promise<CommandEnd | null> {
      const uid = pod.metadata?.uid ?? ''
      const known = kept.get(uid)
      if (known && performance.now() - known.atMs < KEPT_MS) return known.end
      if (kept.size >= KEPT_MAX) kept.clear()
      const end = read(pod)
      kept.set(uid, { atMs: performance.now(), end })
      return end
    },
  }
}
