import { globSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'

const CGROUPS = /^\S+ (\S+) cgroup2 /m
const PREFIX = 'berth-tests-'

/**
 * Prints what each file cost in CPU seconds: of its process and of all that it started, such as gateways, PostgreSQL
 * and machines of the sandbox, also where they were killed. Containers of a Docker Engine are not in it. The run puts
 * itself into a control group of its own and reads that group's account, so it needs Linux and root, and one file at a
 * time: `npx vitest run --maxWorkers=1 --reporter=./scripts/test/vitest-costs-reporter.ts <words>`. The first file
 * also pays what all of a process need, such as loading the gateway.
 */
class VitestCostsReporter implements Reporter {
  private readonly place = cgroupsFolder()
  private readonly group = join(this.place, `${PREFIX}${process.pid}`)
  private readonly costs: { file: string; seconds: number }[] = []
  private before = 0

  onTestRunStart(): void {
    removeEmpty(this.place)
    mkdirSync(this.group)
    writeFileSync(join(this.group, 'cgroup.procs'), String(process.pid))
  }

  onTestModuleEnd({ relativeModuleId: file }: TestModule): void {
    const now = this.seconds()
    this.costs.push({ file, seconds: now - this.before })
    this.before = now
  }

  onTestRunEnd(): void {
    for (const { file, seconds } of this.costs.toSorted((one, other) => other.seconds - one.seconds)) {
      console.log(`${seconds.toFixed(2).padStart(8)} CPU s  ${file}`)
    }
  }

  private seconds(): number {
    const [, microseconds] =
      /^usage_usec (\d+)$/m.exec(readFileSync(join(this.group, 'cpu.stat'), 'utf8')) ?? []
    return Number(microseconds) / 1_000_000
  }
}

function cgroupsFolder(): string {
  const folder = CGROUPS.exec(readFileSync('/proc/mounts', 'utf8'))?.[1]
  if (folder === undefined)
    throw new Error('Costs are read from control groups (cgroup2), of which there are none here.')
  return folder
}

/** A run cannot remove its own, which it is in to its end: the next one does. */
function removeEmpty(place: string): void {
  for (const group of globSync(join(place, `${PREFIX}*`))) {
    try {
      rmdirSync(group)
    } catch {
      // Another run is in it.
    }
  }
}

// biome-ignore lint/style/noDefaultExport: Vitest loads a reporter by its file's default export.
export default VitestCostsReporter
