import { createCpuMeter } from '../cpu-meter.ts'
import { sampleNvidiaGpus } from '../nvidia.ts'
import type { MachineSpec } from '../port/machines.ts'
import type { MachineSample } from '../port/observation.ts'
import type { AgentClient } from './agent-client.ts'
import type { Limiter } from './limiter.ts'

const BYTES_PER_MB = 1024 * 1024

/**
 * Measures machines. Figures come from the control group where there is one, else from the agent, which adds
 * up the machine's processes.
 */
export function createStatsReader(limiter: Limiter) {
  const cpu = createCpuMeter()
  return {
    async read(id: string, agent: AgentClient, spec: MachineSpec): Promise<MachineSample> {
      const inside = await agent.stats()
      const usage = limiter.usage(id)
      const cpuMs = usage.cpuMs ?? inside.cpuMs
      return {
        cpu_percent: cpu.percent(id, cpuMs),
        memory_used_mb: toMb(usage.memoryBytes ?? inside.memoryBytes),
        memory_limit_mb: limiter.memory.enforced ? spec.memory_mb : null,
        disk_used_mb: inside.diskBytes === null ? null : toMb(inside.diskBytes),
        // It has no network but its own loopback.
        network_received_bytes: null,
        network_sent_bytes: null,
        gpus: spec.gpu_uuids.length > 0 ? await sampleNvidiaGpus(spec.gpu_uuids) : [],
        sampled_at: new Date(),
      }
    },
    forget: cpu.forget,
  }
}

export type StatsReader = ReturnType<typeof createStatsReader>

function toMb(bytes: number): number {
  return Math.round((bytes / BYTES_PER_MB) * 10) / 10
}
