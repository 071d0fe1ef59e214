/** Shortest time over which processor use is worked out; a second call within it gets the first's figure. */
const SAMPLE_MS_MIN = 200

interface Sample {
  cpuMs: number
  atMs: number
  percent: number | null
}

/**
 * Turns running totals of processor time into percent of one processor: the mean since the last call for the
 * same machine. The first call, and the first after a restart, has nothing to compare with and says null.
 * @param nowMs Milliseconds, counted from anywhere.
 */
export function createCpuMeter(nowMs: () => number) {
  const samples = new Map<string, Sample>()
  return {
    percent(id: string, cpuMs: number): number | null {
      const atMs = nowMs()
      const last = samples.get(id)
      if (last && atMs - last.atMs < SAMPLE_MS_MIN) return last.percent
      const percent =
        last && cpuMs >= last.cpuMs
          ? Math.round(((cpuMs - last.cpuMs) / (atMs - last.atMs)) * 1000) / 10
          : null
      samples.set(id, { cpuMs, atMs, percent })
      return percent
    },
    forget(id: string): void {
      samples.delete(id)
    },
  }
}
