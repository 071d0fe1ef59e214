/** What nodes with GPUs are kept for: by its name the resource is, and the taint. */
export const GPU_RESOURCE = 'nvidia.com/gpu'

/** By which a pod is let onto nodes that are kept for GPUs. */
export const GPU_TOLERATION = { key: GPU_RESOURCE, operator: 'Exists' }

/**
 * Variables by which runtimes of GPUs are told which devices to put into a container, whoever says so: those are the scheduler's
 * to give. What only says which libraries come along (`NVIDIA_DRIVER_CAPABILITIES`) gives nobody a GPU.
 */
const DEVICES = /_VISIBLE_DEVICES$/
const RUNTIME = /^(NVIDIA|AMD|HABANA|ASCEND)_/
const OF_NVIDIA: ReadonlySet<string> = new Set([
  ...['NVIDIA_MIG_CONFIG_DEVICES', 'NVIDIA_MIG_MONITOR_DEVICES', 'NVIDIA_IMEX_CHANNELS'],
  ...['NVIDIA_NVSWITCH', 'NVIDIA_GDS', 'NVIDIA_MOFED', 'NVIDIA_GDRCOPY'],
])

/** Whether a variable chooses devices, so that no customer sets it. A program's own choice among its GPUs is not one. */
export function isOfGpuRuntime(name: string): boolean {
  return OF_NVIDIA.has(name) || (RUNTIME.test(name) && DEVICES.test(name))
}

/** For each container that was given no GPU: images of CUDA say `all` themselves, and a runtime would believe them. */
export const WITHOUT_GPUS = [{ name: 'NVIDIA_VISIBLE_DEVICES', value: 'void' }]
