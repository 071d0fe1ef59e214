/** Shortest time over which processor use is worked out; a second call within it gets the first's figure. */
const SAMPLE_MS_MIN = 200

interface Sample {
  cpu_ms: number
  at_ms: number
  percent: number | null
}

/**
 * Turns running totals of processor time into percent of one processor: the mean since the last call for the
 * same machine. The first call, and the first after a restart, has nothing to compare with and says null.
 */
export function createCpuMeter() {
  const samples = new Map<string, Sample>()
  return {
    percent(id: string, cpu_ms: number): number | null {
      const at_ms = performance.now()
      const last = samples.get(id)
      if (last && at_ms - last.at_ms < SAMPLE_MS_MIN) return last.percent
      const percent =
        last && cpu_ms >= last.cpu_ms
          ? Math.round(((cpu_ms - last.cpu_ms) / (at_ms - last.at_ms)) * 1000) / 10
          : null
      samples.set(id, { cpu_ms, at_ms, percent })
      return percent
    },
    forget(id: string): void {
      samples.delete(id)
    },
  }
}
